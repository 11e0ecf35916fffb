import json

import pytest

from dph_theory.methods.repairs import REPAIRS
from full_scale.laws.atlas import BASE, PREDICTION, RUN, Trained, chosen, kept_in, store, table, trained_in
from full_scale.laws.atlas_form import End

GRPO = REPAIRS[0]
FORESEEN, ENDED = End(0.9, (0.1, 0.1, 0.1, 0.7)), End(0.8, (0.2, 0.1, 0.1, 0.6))


def test_what_is_done_is_kept_and_a_method_is_told_once_all_its_runs_are_there(tmp_path):
    kept = kept_in(tmp_path)
    kept.keep(PREDICTION, "GRPO", FORESEEN)
    kept.keep(RUN, "GRPO 0", ENDED)
    assert trained_in(kept_in(tmp_path), [GRPO], 2) == []
    kept.keep(RUN, "GRPO 1", ENDED)
    (found,) = trained_in(kept_in(tmp_path), REPAIRS, 2)
    assert found == Trained("GRPO", FORESEEN, (ENDED, ENDED))
    assert found.gaps == pytest.approx((0.1, 0.1))
    assert table([found]).rows == (("GRPO", 0.9, 0.8, 0.7, 0.6, pytest.approx(0.1)),)


def test_the_record_has_cells_and_runs_and_is_read_by_its_schema(tmp_path):
    kept = kept_in(tmp_path)
    kept.keep(BASE, BASE, End(0.3, (0.2, 0.1, 0.1, 0.6)))
    runs = [Trained("GRPO", FORESEEN, (ENDED,))]
    store([GRPO], runs, kept, 1, tmp_path / "atlas.json")
    found = json.loads((tmp_path / "atlas.json").read_text())
    assert found["kind"] == "atlas"
    assert found["config"]["seeds"] == 1
    results = found["results"]
    assert [row["method"] for row in results["rows"]] == ["GRPO"]
    assert results["trained"][0]["runs"][0]["validity"] == 0.8
    assert results["trained"][0]["gaps"] == [0.1]
    assert results["base"]["shares"][-1] == 0.6


def test_methods_are_chosen_by_name():
    assert chosen(()) == list(REPAIRS)
    assert chosen(("GRPO",)) == [GRPO]
    with pytest.raises(ValueError, match="only='GPRO' is not allowed"):
        chosen(("GPRO",))
