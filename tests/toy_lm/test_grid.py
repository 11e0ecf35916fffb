"""A grid of settings on small jobs: what is made, kept, told, and what an interruption leaves."""

from functools import partial

import pytest
import torch

from dph_theory.support.errors import RefusedError
from dph_theory.support.journal import Journal
from toy_lm.grid import run_grid
from toy_lm.threads import one_thread

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


def kept(folder):
    (path,) = folder.iterdir()
    return len(Journal(path, None))


def test_rows_come_in_the_jobs_order_and_what_is_kept_is_told_at_once_and_not_made_again(tmp_path):
    made, told = [], []
    first = quietly(made, JOBS[:2], tmp_path / "runs")
    assert first == [{"length": 3, "half": None}, {"length": 3, "half": 0.5}]
    again = run_grid(partial(row, made), JOBS, done=lambda *step: told.append(step), folder=tmp_path / "runs")
    assert made == list(JOBS)
    assert again == [*first, {"length": 5, "half": 0.5}]
    assert told == [(2, 3), (3, 3)]


def test_an_interruption_leaves_what_is_finished(tmp_path):
    made = []
    with pytest.raises(KeyboardInterrupt):
        quietly(made, JOBS, tmp_path, dying)
    assert (made, kept(tmp_path)) == (["one"], 1)
    quietly(made, JOBS, tmp_path)
    assert made == list(JOBS)


def test_another_version_is_made_anew_and_the_old_row_stays(tmp_path):
    made = []
    for packages in (("numpy",), ("numpy", "scipy")):
        quietly(made, JOBS[:1], tmp_path, packages=packages)
    assert (made, kept(tmp_path)) == (["one", "one"], 2)


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_line_that_is_no_row_is_named_and_not_overwritten(tmp_path, text):
    quietly([], JOBS[:1], tmp_path)
    (path,) = tmp_path.iterdir()
    damaged = f"{path.read_text().splitlines()[0]}\n{text}\n"
    path.write_text(damaged, encoding="latin-1")
    with pytest.raises(RefusedError, match=rf"{path} is damaged, line 2"):
        quietly([], JOBS[:1], tmp_path)
    assert path.read_text(encoding="latin-1") == damaged


def test_processes_do_not_change_the_rows(tmp_path):
    jobs = ({"a": 1}, {"a": 2})
    for folder in (None, tmp_path):
        assert run_grid(dict, jobs, done=lambda *told: None, workers=2, folder=folder) == list(jobs)
    assert kept(tmp_path) == 2


def test_threads_are_given_back_after_an_error_too(monkeypatch):
    told = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(torch, "set_num_threads", told.append)
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert told == [1, 2]
