import pytest

from dph_theory.counts import read_counts
from dph_theory.support.files import write_json
from dph_theory.support.record import record

PROMPT = {
    "id": "q1",
    "correct": [1, 0, 1],
    "log_pi": [-1.0, -2.0, -3.0],
    "log_ref": [-2.0, -2.0, -2.0],
    "styles": ["a", "b", None],
}


def stored(folder, *sets):
    results = {"sets": {name: {"prompts": [PROMPT]} for name in sets}}
    made = record("full_scale.evaluation", seed=0, config={}, results=results, findings=[])
    write_json(folder / "evaluation.json", made)
    return folder


def test_a_run_of_dph_evaluate_gives_counts_log_ratios_and_styles(tmp_path):
    read = read_counts(stored(tmp_path, "in_domain")).rows["q1"]
    assert (read.n, read.c, read.kl, read.kl_correct, read.styles) == (3, 2, 0, 0, {"a": 1})
    assert read_counts(tmp_path / "evaluation.json").rows["q1"] == read


def test_of_several_sets_one_is_named(tmp_path):
    stored(tmp_path, "in_domain", "rehearsed")
    assert set(read_counts(tmp_path, prompts="rehearsed").rows) == {"q1"}
    with pytest.raises(ValueError, match="one of in_domain, rehearsed"):
        read_counts(tmp_path)
    (tmp_path / "evaluation.json").write_text("{")
    with pytest.raises(ValueError, match="a record in JSON"):
        read_counts(tmp_path)
