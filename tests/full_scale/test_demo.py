"""The demo at toy length, end to end: every stage really runs."""

import json

import pytest
from click.testing import CliRunner
from support.tiny_training import TRL_WARNS

from dph_theory.support.errors import RefusedError
from dph_theory.support.record import checked
from full_scale.cli import demo_command
from full_scale.demo import KIND, METHODS, demo, tables
from full_scale.storage.locks import locked
from full_scale.validation.table import COLUMNS

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(TRL_WARNS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "a new folder" / "quick"


@pytest.fixture(scope="module")
def stages():
    return []


@pytest.fixture(scope="module")
def result(folder, stages):
    return demo(folder, quick=True, progress=lambda stage, done, total: stages.append((stage, done, total)))


def stored(folder, run, kind):
    return json.loads((folder / f"tiny-sql-{run}-seed0" / f"{kind}.json").read_text())["results"]


def test_record_and_table_are_made_of_the_stored_evaluations(result, folder):
    assert json.loads((folder / "demo.json").read_text()) == checked(result, KIND)
    found = result["results"]
    assert list(found["methods"]) == ["base", *METHODS]
    for values in found["methods"].values():
        ((few,), (many,)) = values["Pass@1"]["values"], values["Pass@4"]["values"]
        assert 0 <= few <= many <= 1
    assert found["methods"]["base"]["retention"]["values"] == []
    assert result["findings"][-1].startswith(f"{len(found['predictions'])} predictions")
    assert len([gap for gap in found["differences"] if gap["expected"]]) == 10
    summary = stored(folder, "dph-f", "evaluation")["sets"]["in_domain"]["summary"]
    assert found["methods"]["DPH-F"]["Pass@4"]["values"] == [summary["pass_at_k"]["4"]["value"]]
    table, gaps = tables(result)
    assert len(gaps.rows) == len(found["differences"])
    assert table.head == ("", "seeds", *COLUMNS)
    (row,) = [dict(zip(table.head, row, strict=True)) for row in table.rows if row[0] == "DPH-F"]
    assert row["greedy"] == f"{summary['greedy']['value']:.3f}"
    assert (row["seeds"], row["Pass@32"]) == ("1", "-")


def test_training_rehearsed_and_was_measured(result, folder):
    training = stored(folder, "dph-f", "training")
    assert training["steps"] == 3
    for entry in training["log"]:
        assert entry.keys() >= {"rehearsal/loss", "collapse/excess_kl"}
    assert not any("rehearsal/loss" in entry for entry in stored(folder, "grpo", "training")["log"])
    # Before the first step pi is the reference: KL along training begins at zero.
    first = stored(folder, "dph-js", "training")["log"][0]
    assert abs(first["collapse/kl"]) < 1e-3
    assert first["rehearsal/log_u_max_abs"] < 1e-3


def test_checks_and_predictions_were_judged(result):
    checks, predicted = result["results"]["checks"], result["results"]["predictions"]
    assert {line["run"] for line in checks} == {f"tiny-sql-{name.lower()}-seed0" for name in METHODS}
    sums = [line["verdict"] for line in checks if line["name"] == "token sum"]
    assert sums == ["consistent"] * len(METHODS)
    controlled = {line["name"] for line in predicted if line["run"] == "tiny-sql-kl-control-seed0"}
    assert controlled == {"log odds gain", "KL to the stationary policy"}


def test_progress_names_every_stage_and_what_is_finished_is_not_run_again(result, folder, stages):
    names = {stage for stage, _, _ in stages}
    assert {"databases", "learning", "pre-sampling", "evaluating base", "runs"} <= names
    assert stages[-1] == ("runs", len(METHODS), len(METHODS))
    evaluation = folder / "tiny-sql-rkl-seed0" / "evaluation.json"
    evaluation.unlink()
    found = CliRunner().invoke(demo_command, ["--quick", "--folder", str(folder)])
    assert found.exit_code == 0, found.output
    assert evaluation.is_file()
    assert "DPH-JS" in found.output
    assert "learning" not in found.output
    assert json.loads((folder / "demo.json").read_text()) == result
    with pytest.raises(ValueError, match="choose another folder"):
        demo(folder)


def test_two_demos_in_one_folder_are_refused(tmp_path):
    with locked(tmp_path), pytest.raises(RefusedError, match="is at work in"):
        demo(tmp_path, quick=True)
