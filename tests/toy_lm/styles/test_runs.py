import json
from dataclasses import replace

import pytest
import torch
from support.tiny_styles_base import SETTINGS

from toy_lm.styles import runs
from toy_lm.styles.runs import Job, run_all, run_one
from toy_lm.styles.variants import Variant

JOBS = [
    Job(variant, seed=0, updates=8, every=4, settings=SETTINGS)
    for variant in (Variant("DAPO"), Variant("DPH-F", strength=0.3))
]


def quietly(jobs, folder, workers=1):
    return run_all(jobs, workers=workers, folder=folder, done=lambda job: None)


def results(records):
    return [record["results"] for record in records.values()]


@pytest.fixture(scope="module")
def without_folder():
    return quietly(JOBS, None)


def test_a_run_measures_its_curve_and_its_ends(without_folder):
    run = without_folder[JOBS[1]]["results"]
    assert run["curve"]["update"] == [0, 4, 8]
    assert all(len(values) == 3 for values in run["curve"].values())
    assert run["curve"]["excess"][0] == 0 < run["curve"]["excess"][-1]
    assert run["coefficient"] == 0.3
    assert set(run["end"]) == set(run["base"]) == {"train", "held_out"}
    assert run["base"] == without_folder[JOBS[0]]["results"]["base"]
    assert run["end"] != without_folder[JOBS[0]]["results"]["end"]


def test_what_is_finished_is_read_and_only_the_rest_is_made(tmp_path, monkeypatch, without_folder):
    made = []

    def counted(job):
        made.append(job)
        return run_one(job)

    monkeypatch.setattr(runs, "run_one", counted)
    quietly(JOBS[:1], tmp_path)
    resumed = quietly(JOBS, tmp_path)
    again = quietly(JOBS, tmp_path)
    assert made == JOBS
    assert results(resumed) == results(again) == results(without_folder)


def test_an_interrupted_run_leaves_the_finished_ones(tmp_path, monkeypatch, without_folder):
    def dies(job):
        if job == JOBS[1]:
            raise KeyboardInterrupt
        return run_one(job)

    with monkeypatch.context() as patched:
        patched.setattr(runs, "run_one", dies)
        with pytest.raises(KeyboardInterrupt):
            quietly(JOBS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [JOBS[0].name]
    assert results(quietly(JOBS, tmp_path)) == results(without_folder)


def test_another_configuration_is_an_error_that_says_what_differs(tmp_path, monkeypatch):
    quietly(JOBS[:1], tmp_path)
    before = (tmp_path / JOBS[0].name).read_bytes()
    other = replace(JOBS[0], settings=replace(SETTINGS, rate=1e-3))
    with pytest.raises(ValueError, match=r"config\.settings\.rate is 0\.0005 there and 0\.001 here"):
        quietly([other], tmp_path)
    assert (tmp_path / JOBS[0].name).read_bytes() == before


def test_another_version_is_an_error(tmp_path):
    quietly(JOBS[:1], tmp_path)
    path = tmp_path / JOBS[0].name
    stored = json.loads(path.read_text())
    stored["versions"]["torch"] = "0.4"
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=r"versions\.torch is '0\.4' there"):
        quietly(JOBS[:1], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"), [("{", "must be JSON"), ("[]", "record="), ('{"kind": 1}', "record=")]
)
def test_a_broken_file_is_named_not_overwritten(tmp_path, text, message):
    path = tmp_path / JOBS[0].name
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        quietly(JOBS[:1], tmp_path)
    assert path.read_text() == text


def test_threads_are_as_before():
    before = torch.get_num_threads()
    run_one(replace(JOBS[0], updates=0))
    assert torch.get_num_threads() == before


def test_names_of_files_are_unique_and_plain():
    jobs = [
        *JOBS,
        replace(JOBS[0], seed=1),
        replace(JOBS[0], updates=16),
        replace(JOBS[0], variant=Variant("KL control", mu=0.5)),
    ]
    names = [job.name for job in jobs]
    assert len(set(names)) == len(jobs)
    assert not any(set(name) & set(' /\\:"') for name in names)


@pytest.mark.slow
def test_processes_do_not_change_the_numbers(without_folder):
    assert results(quietly(JOBS, None, workers=2)) == results(without_folder)
