import json

import pytest

from dph_theory.support.files import write_json
from toy_lm.collapse import read
from toy_lm.collapse.results import select


def test_a_record_is_the_same_after_a_file(small_record, tmp_path):
    write_json(tmp_path / "record.json", small_record)
    assert read(json.loads((tmp_path / "record.json").read_text())) == read(small_record)


def test_optima_come_with_rising_strength_and_lines_name_their_objective(small_record):
    results = read(small_record)
    optima = results.reference.optima("homogeneous")
    assert [fit.inverse_beta for fit in optima] == sorted(fit.inverse_beta for fit in optima)
    assert optima[-1].label == "1/beta = 10"
    assert [fit.label for fit in select(results.reference.fits, method="closed form")] == ["forward KL"] * 2
    assert {rate.label for rate in results.random[0].rates} == {
        "mu = 0.999", "forward KL", "alpha = 0.5", "E[v]",
    }  # fmt: skip


def test_what_a_record_lacks_is_named(small_record):
    del small_record["results"]["reference"]["fits"][0]["validity"]
    with pytest.raises(ValueError, match=r"reference\.fits\.0\.validity"):
        read(small_record)
