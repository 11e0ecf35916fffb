import json
import shutil

import numpy as np
import pytest
from support.simulated_runs import Simulated, kl_control, shifted

from dph_theory.support.record import checked
from full_scale.comparison.stage import KIND, compare, tables


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rng = np.random.default_rng(0)
    simulated = Simulated(
        kl_control(rng, 150, 0.5), where=("in_domain", "explored"), method={"name": "KL-control", "beta": 0.5}
    )
    return simulated.write(rng, tmp_path_factory.mktemp("runs"))


def test_the_record(run):
    found = checked(compare([run]), KIND)
    json.dumps(found, allow_nan=False)
    names = {(row["set"], row["name"]) for row in found["results"]["rows"]}
    assert {("in_domain", "excess KL"), ("explored", "log odds gain")} <= names
    here = found["results"]["runs"]["run-seed0"]["in_domain"]
    assert len(here["prompts"]) == 150
    assert here["kl"] == pytest.approx(here["cost"] + here["excess"], abs=1e-12)
    assert here["kl"] == pytest.approx(np.mean([p["kl"] for p in here["prompts"]]))
    assert found == compare([run])


def test_the_meter_along_training_is_told_step_by_step(run, tmp_path):
    shutil.copytree(run.parent, tmp_path / "runs")
    copy = tmp_path / "runs" / run.name
    record = json.loads((copy / "training.json").read_text())
    measured = {"excess_kl": 0.2, "excess_kl_se": 0.1, "kl": 0.5, "cost": 0.3}
    prefixed = {f"collapse/{key}": value for key, value in measured.items()}
    record["results"]["log"] = [{"step": 1, "loss": 3.0, **prefixed}, {"step": 2, "loss": 3.0}]
    (copy / "training.json").write_text(json.dumps(record))
    assert compare([copy])["results"]["training"] == {run.name: [{"step": 1, **measured}]}


def test_findings_follow_the_verdicts(run, tmp_path):
    found = compare([run])
    verdicts = [row["verdict"] for row in found["results"]["rows"]]
    assert found["findings"][-1].startswith(
        f"{len(verdicts)} predictions: {verdicts.count('consistent')} consistent, 0 inconsistent"
    )
    rng = np.random.default_rng(0)
    planted = Simulated(kl_control(rng, 150, 0.5)).write(rng, tmp_path, change=shifted(1.0))
    assert any(sentence.endswith(": inconsistent") for sentence in compare([planted])["findings"])


def test_tables_hold_every_row_as_text(run):
    found = compare([run])
    measured, judged = tables(found)
    assert len(judged.rows) == len(found["results"]["rows"])
    assert [row[:2] for row in measured.rows] == [("run-seed0", "in_domain"), ("run-seed0", "explored")]
    for table in (measured, judged):
        assert all(len(row) == len(table.headers) for row in table.rows)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
    errors = [float(row[judged.headers.index("se")]) for row in judged.rows]
    assert errors == pytest.approx([row["standard_error"] for row in found["results"]["rows"]], abs=5e-4)
    # As from a file, where infinite numbers are strings.
    found["results"]["rows"][0]["estimate"] = "-inf"
    assert tables(found)[1].rows[0][4] == "-inf"
