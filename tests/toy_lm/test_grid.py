"""A grid of settings on small jobs: what is made, kept, told, and what an interruption leaves."""

from functools import partial

import pytest

from toy_lm.grid import run_grid

JOBS = ("one", "two", "three")


def row(made, job):
    made.append(job)
    return {"length": len(job), "half": None if job == "one" else 0.5}


def dying(made, job):
    if job == "two":
        raise KeyboardInterrupt
    return row(made, job)


def quietly(made, jobs, folder=None, make=row, **options):
    return run_grid(partial(make, made), jobs, done=lambda *told: None, folder=folder, **options)


def test_rows_come_in_the_jobs_order_and_the_first_thing_told_is_that_nothing_is_done():
    told = []
    found = run_grid(partial(row, []), JOBS, done=lambda *step: told.append(step))
    assert [one["length"] for one in found] == [3, 3, 5]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert quietly([], ()) == []


def test_what_is_kept_is_not_made_again_and_is_told_at_once(tmp_path):
    made, told = [], []
    first = quietly(made, JOBS[:2], tmp_path / "runs")
    again = run_grid(partial(row, made), JOBS, done=lambda *step: told.append(step), folder=tmp_path / "runs")
    assert made == list(JOBS)
    assert again == [*first, {"length": 5, "half": 0.5}]
    assert told == [(2, 3), (3, 3)]


def test_an_interruption_leaves_what_is_finished(tmp_path):
    made = []
    with pytest.raises(KeyboardInterrupt):
        quietly(made, JOBS, tmp_path, dying)
    assert (made, len(list(tmp_path.iterdir()))) == (["one"], 1)
    quietly(made, JOBS, tmp_path)
    assert made == list(JOBS)


def test_another_version_is_made_anew_and_the_old_row_stays(tmp_path):
    made = []
    quietly(made, JOBS[:1], tmp_path, packages=("numpy",))
    quietly(made, JOBS[:1], tmp_path, packages=("numpy", "scipy"))
    assert (made, len(list(tmp_path.iterdir()))) == (["one", "one"], 2)


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_file_that_is_no_row_is_named_and_not_overwritten(tmp_path, text):
    quietly([], JOBS[:1], tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=rf"folder='{path}' is not allowed: a row in JSON"):
        quietly([], JOBS[:1], tmp_path)
    assert path.read_text(encoding="latin-1") == text


def test_processes_do_not_change_the_rows(tmp_path):
    jobs = ({"a": 1}, {"a": 2})
    for folder in (None, tmp_path):
        assert run_grid(dict, jobs, done=lambda *told: None, workers=2, folder=folder) == list(jobs)
    assert len(list(tmp_path.iterdir())) == 2
