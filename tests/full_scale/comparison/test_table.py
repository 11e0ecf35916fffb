import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import Simulated, kl_control, shifted

from dph_theory.support.frozen import from_json
from full_scale.comparison.table import Comparison, compare
from full_scale.comparison.verdicts import Judgement


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rng = np.random.default_rng(0)
    method = {"name": "KL-control-sequence", "beta": 0.5}
    simulated = Simulated(kl_control(rng, 150, 0.5), where=("in_domain", "explored"), method=method)
    return simulated.write(rng, tmp_path_factory.mktemp("runs"))


def test_checks_and_predictions_apart(run):
    found = compare([run])
    assert {("in_domain", "excess KL")} <= {(line.set, line.name) for line in found.checks}
    assert {line.name for line in found.predictions} == {"log odds gain", "KL to the law"}
    here = found.measured[0]
    assert (here.run, here.set) == ("run-seed0", "in_domain")
    assert here.kl == pytest.approx(here.cost + here.excess, abs=1e-12)


def test_the_record_holds_it_all(run):
    found = compare([run])
    stored = json.loads(json.dumps(found.as_record(), allow_nan=False))
    again = from_json(Comparison, {"runs": stored["config"]["runs"], **stored["results"]})
    assert (again.checks, again.predictions, again.measured) == (
        found.checks,
        found.predictions,
        found.measured,
    )
    assert compare([run]) == found


def test_the_meter_along_training_is_told_step_by_step(run, tmp_path):
    shutil.copytree(run.parent, tmp_path / "runs")
    copy = tmp_path / "runs" / run.name
    record = json.loads((copy / "training.json").read_text())
    measured = {"excess_kl": 0.2, "excess_kl_se": 0.1, "kl": 0.5, "cost": 0.3}
    prefixed = {f"collapse/{key}": value for key, value in measured.items()}
    record["results"]["log"] = [{"step": 1, "loss": 3.0, **prefixed}, {"step": 2, "loss": 3.0}]
    (copy / "training.json").write_text(json.dumps(record))
    assert compare([copy]).training == {run.name: [{"step": 1, **measured}]}


def test_a_violated_check_is_an_alarm(run, tmp_path):
    whole, judged = compare([run]).sentences()
    assert "ALARM" not in whole
    assert "2 consistent, 0 inconsistent, 0 not enough" in judged
    rng = np.random.default_rng(0)
    planted = Simulated(kl_control(rng, 150, 0.5)).write(rng, tmp_path, change=shifted(1.0))
    assert "ALARM" in compare([planted]).sentences()[0]


def test_what_is_inconsistent_is_told_once_for_all_runs(run):
    found = compare([run])
    missed = tuple(replace(line, verdict=Judgement.INCONSISTENT) for line in found.predictions)
    judged = replace(found, predictions=missed * 2).sentences()[1]
    assert "Inconsistent" not in found.sentences()[1]
    for line in missed:
        assert judged.partition("Inconsistent: ")[2].count(f"{line.name} ({line.theory}; ") == 1


def test_tables_hold_every_line_as_text(run):
    found = compare([run])
    measured, checks, predicted = found.tables()
    assert [row[:2] for row in measured.rows] == [("run-seed0", "in_domain"), ("run-seed0", "explored")]
    assert (len(checks.rows), len(predicted.rows)) == (len(found.checks), len(found.predictions))
    for table in (measured, checks, predicted):
        assert all(len(row) == len(table.headers) for row in table.rows)
    margins = [float(row[checks.headers.index("margin")]) for row in checks.rows]
    assert margins == pytest.approx([line.margin for line in found.checks], abs=5e-4)
