import pytest

from dph_theory.support.record import record
from figures.results.demo import Demo


def test_a_record_that_lacks_a_part_names_it():
    found = record("full_scale.demo", seed=0, config={}, results={"set": "all"}, findings=[])
    with pytest.raises(ValueError, match=r"Demo\.prompts"):
        Demo.read(found)
