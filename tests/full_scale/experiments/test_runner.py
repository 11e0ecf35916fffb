"""The runner of experiments: what is declared is listed at once, and claims are judged over seeds."""

import subprocess
import sys

import pytest

from full_scale.experiments.claims import ABOVE, Claim, claim_rows, claim_table, judge, over_seeds
from full_scale.experiments.runner import STUDIES, study_named

HEAVY = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")


@pytest.mark.parametrize("words", [["--list"], ["small-llama", "--list"], ["pretrained", "--list"]])
def test_a_list_of_experiments_loads_no_training_code(tmp_path, words):
    code = (
        "import sys, dph_cli\n"
        "try: dph_cli.main(sys.argv[1:])\n"
        f"finally: print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "experiment", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "loaded: []" in done.stdout
    assert ("drift" if words[0] != "pretrained" else "advantages") in done.stdout
    assert not [*tmp_path.iterdir()], "a list writes nothing"


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_questions_for_all_its_experiments_and_names_for_all_its_runs(name):
    study = study_named(name)
    assert {run.experiment for run in study.declared()} == set(study.questions)
    names = [run.id for run in study.declared()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", STUDIES)
def test_a_number_of_seeds_counts_from_the_first_that_a_study_has(name):
    study = study_named(name)
    seeds = sorted({run.seed for run in study.declared() if run.seed is not None})
    for number in (1, 2):
        chosen = {run.seed for run in study.runs(seeds=number)} - {None}
        assert chosen == set(seeds[:number])
    assert len(study.runs()) == len(study.declared())


def test_all_claims_are_reported_whatever_became_of_them():
    claims = [Claim(name, "A1", f"{name} rises", "it stays", dict.__getitem__, ABOVE) for name in ("a", "b")]
    values = over_seeds(lambda seed: seed["a"], {0: {"a": 1.0}, 1: {"a": 1.2}, 2: {}})
    verdicts = {"a": judge(claims[0], values)}
    assert (verdicts["a"].seeds, verdicts["a"].verdict) == (2, "held")
    assert [row[-1] for row in claim_table(claims, verdicts).rows] == ["as predicted", "not run"]
    assert claim_table(claims, {}).rows == ()
    assert [row.get("verdict") for row in claim_rows(claims, verdicts)] == ["held", None]
