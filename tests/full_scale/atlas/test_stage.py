import json

import pytest

from dph_theory.methods.repairs import METHODS
from full_scale.atlas import stage
from full_scale.atlas.stage import AtlasJournal, End, Trained, chosen, store, table

GRPO = METHODS[0]
FORESEEN, RUN = End(0.9, (0.1, 0.1, 0.1, 0.7)), End(0.8, (0.2, 0.1, 0.1, 0.6))


def test_what_is_done_is_kept_and_a_method_is_told_once_all_its_runs_are_there(tmp_path):
    kept = AtlasJournal(tmp_path)
    kept.add("GRPO", None, FORESEEN)
    kept.add("GRPO", 0, RUN)
    assert AtlasJournal(tmp_path).trained([GRPO], 2) == []
    AtlasJournal(tmp_path).add("GRPO", 1, RUN)
    (found,) = AtlasJournal(tmp_path).trained(METHODS, 2)
    assert found == Trained("GRPO", FORESEEN, (RUN, RUN))
    assert found.gaps == pytest.approx((0.1, 0.1))
    assert table([found]).rows == (("GRPO", 0.9, 0.8, 0.7, 0.6, pytest.approx(0.1)),)


def test_the_record_has_cells_and_runs_and_is_read_by_its_schema(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "base_shares", lambda box, bases: (0.3, [0.2, 0.1, 0.1, 0.6]))
    runs = [Trained("GRPO", FORESEEN, (RUN,))]
    store([GRPO], runs, tmp_path, tmp_path / "atlas.json", seeds=1)
    found = json.loads((tmp_path / "atlas.json").read_text())
    assert found["kind"] == "atlas"
    assert found["config"]["seeds"] == 1
    results = found["results"]
    assert [row["method"] for row in results["rows"]] == ["GRPO"]
    assert results["trained"][0]["runs"][0]["validity"] == 0.8
    assert results["base"]["shares"][-1] == 0.6


def test_methods_are_chosen_by_name():
    assert chosen(()) == list(METHODS)
    assert chosen(("GRPO",)) == [GRPO]
    with pytest.raises(ValueError, match="only='GPRO' is not allowed"):
        chosen(("GPRO",))
