"""The demo at toy length, end to end: every stage really runs."""

import json

import pytest
from click.testing import CliRunner
from support.tiny_training import TRL_WARNS

from dph_theory.support.record import checked
from full_scale.cli import demo_command
from full_scale.comparison.table import COLUMNS
from full_scale.demo import KIND, METHODS, demo, tables

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


def test_the_record_holds_base_and_methods(result, folder):
    found = checked(result, KIND)
    assert json.loads((folder / "demo.json").read_text()) == found
    assert list(found["results"]["methods"]) == ["base", *METHODS]
    for values in found["results"]["methods"].values():
        ((few,), (many,)) = values["Pass@1"]["values"], values["Pass@4"]["values"]
        assert 0 <= few <= many <= 1
    assert found["results"]["methods"]["base"]["retention"]["values"] == []
    assert found["findings"][-1].startswith(f"{len(found['results']['predictions'])} predictions")
    assert len([gap for gap in found["results"]["differences"] if gap["expected"]]) == 10


def test_the_table_is_made_of_the_stored_evaluations(result, folder):
    stored = json.loads((folder / "tiny-sql-dph-f-seed0" / "evaluation.json").read_text())["results"]
    summary = stored["sets"]["in_domain"]["summary"]
    values = result["results"]["methods"]["DPH-F"]
    assert values["greedy"]["values"] == [summary["greedy"]["value"]]
    assert values["Pass@4"]["values"] == [summary["pass_at_k"]["4"]["value"]]
    table, gaps = tables(result)
    assert len(gaps.rows) == len(result["results"]["differences"])
    assert table.head == ("", "seeds", *COLUMNS)
    (row,) = [dict(zip(table.head, row, strict=True)) for row in table.rows if row[0] == "DPH-F"]
    assert row["greedy"] == f"{summary['greedy']['value']:.3f}"
    assert (row["seeds"], row["Pass@32"]) == ("1", "-")


def test_training_rehearsed_and_was_measured(result, folder):
    training = json.loads((folder / "tiny-sql-dph-f-seed0" / "training.json").read_text())["results"]
    assert training["steps"] == 3
    for entry in training["log"]:
        assert "rehearsal/loss" in entry
        assert "collapse/excess_kl" in entry
    plain = json.loads((folder / "tiny-sql-grpo-seed0" / "training.json").read_text())["results"]
    assert all("rehearsal/loss" not in entry for entry in plain["log"])


def test_at_the_first_step_rehearsal_is_neutral(result, folder):
    """Before the first step pi is the reference: KL along training begins at zero."""
    training = json.loads((folder / "tiny-sql-dph-js-seed0" / "training.json").read_text())["results"]
    assert abs(training["log"][0]["collapse/kl"]) < 1e-3
    assert training["log"][0]["rehearsal/log_u_max_abs"] < 1e-3


def test_checks_and_predictions_were_judged(result):
    checks, predicted = result["results"]["checks"], result["results"]["predictions"]
    assert {line["run"] for line in checks} == {f"tiny-sql-{name.lower()}-seed0" for name in METHODS}
    sums = [line for line in checks if line["name"] == "token sum"]
    assert len(sums) == len(METHODS)
    assert all(line["verdict"] == "consistent" for line in sums)
    controlled = {line["name"] for line in predicted if line["run"] == "tiny-sql-kl-control-seed0"}
    assert controlled == {"log odds gain", "KL to the law"}


def test_progress_names_every_stage(result, stages):
    names = {stage for stage, _, _ in stages}
    assert {"databases", "learning", "pre-sampling", "evaluating base", "runs"} <= names
    assert stages[-1] == ("runs", len(METHODS), len(METHODS))


def test_a_finished_demo_is_not_run_again(result, folder):
    stages = []
    again = demo(folder, quick=True, progress=lambda stage, done, total: stages.append(stage))
    assert again == result
    assert "learning" not in stages


def test_an_interrupted_demo_goes_on(result, folder):
    evaluation = folder / "tiny-sql-rkl-seed0" / "evaluation.json"
    evaluation.unlink()
    found = CliRunner().invoke(demo_command, ["--quick", "--folder", str(folder)])
    assert found.exit_code == 0, found.output
    assert evaluation.is_file()
    assert "DPH-JS" in found.output
    assert json.loads((folder / "demo.json").read_text()) == result


def test_another_length_is_refused(result, folder):
    with pytest.raises(ValueError, match="choose another folder"):
        demo(folder)
