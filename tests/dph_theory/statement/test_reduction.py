import pytest

from dph_theory.numeric.boxes import linear, rate
from dph_theory.statement.reduction import Reduction


def test_a_reduction_names_the_scalars_of_its_box_and_those_it_does_not_depend_on():
    reduction = Reduction("", {"p": rate("1e-6")}, dict, free={"t": linear("0", "1")})
    assert str(reduction) == "p in [1e-6, 1 - 1e-6], t in [0, 1]"


def test_a_reduction_states_a_gap_or_two_sides():
    with pytest.raises(ValueError, match="where there is no gap"):
        Reduction("", {"p": rate("1e-6")}, dict).pairs(p=1)
