import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from dph_theory.support.errors import RefusedError
from dph_theory.support.processes import deferred, in_order, run_jobs
from tests.support.process_jobs import divide, end_at_seven, leave_mark, new_pages

pytestmark = pytest.mark.usefixtures("worker_processes")


def test_an_interruption_takes_effect_after_the_block():
    done = []

    def interrupted_block():
        with deferred():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted_block()
    assert done == ["the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_goes_on_as_it_is():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_every_job_comes_with_its_result():
    assert dict(run_jobs(abs, [-3, 2, -1], workers=2)) == {-3: 3, 2: 2, -1: 1}
    assert list(run_jobs(abs, [])) == []


def test_results_come_in_the_order_of_the_jobs_and_are_handed_on_as_they_end():
    told = []
    assert in_order(partial(divide, sleep=0.3), [2, -1], workers=2, on_result=told.append) == [0.5, -1]
    assert told == [-1, 0.5]


def test_an_error_is_raised_and_ends_the_own_workers_only(tmp_path):
    bystander = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    bystander.start()
    start = time.monotonic()
    try:
        with pytest.raises(ZeroDivisionError):
            list(run_jobs(partial(divide, sleep=60), [0, 1], workers=2))
        assert time.monotonic() - start < 50
        assert bystander.is_alive()
        assert multiprocessing.active_children() == [bystander]
    finally:
        bystander.kill()
        bystander.join()


class InterruptedWhileGiven(list):
    """Jobs of which the first comes with a Ctrl-C."""

    def __iter__(self):
        os.kill(os.getpid(), signal.SIGINT)
        yield from super().__iter__()


def test_an_interruption_while_the_workers_start_is_not_lost():
    done = []
    with pytest.raises(KeyboardInterrupt):
        done += run_jobs(abs, InterruptedWhileGiven([-3, 2]), workers=2)
    assert done == []
    assert multiprocessing.active_children() == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_leaving_the_loop_ends_the_workers_or_finishes_what_has_begun_on_request(tmp_path):
    for _job, _result in run_jobs(partial(divide, sleep=60), [-1, 2], workers=2):
        break
    assert multiprocessing.active_children() == []
    jobs = [tmp_path / "quick", tmp_path / "slow"]
    late = []
    for _job, _result in run_jobs(leave_mark, jobs, workers=2, on_late=lambda job, _: late.append(job)):
        break
    assert all(job.exists() for job in jobs)
    assert len(late) == 1


def test_a_death_can_be_a_result():
    found = dict(run_jobs(os._exit, [7], on_death=lambda job, error: f"{job}: {type(error).__name__}"))
    assert found == {7: "7: BrokenProcessPool"}


def test_a_killed_worker_is_an_error_that_names_the_jobs_under_way():
    finished = []
    with pytest.raises(RefusedError, match=r"at this job: 7; .*the same command goes on"):
        finished += run_jobs(end_at_seven, [1, 2, 7, 3], workers=1)
    with pytest.raises(RefusedError, match=r"at one of these jobs: 7, 2; "):
        finished += run_jobs(end_at_seven, [7, 2, 3, 4], workers=2)


def test_a_killed_server_of_workers_is_an_error_in_words(monkeypatch):
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr(context.Process, "start", lambda process: raise_end_of_file())
    with pytest.raises(RefusedError, match=r"a worker process was killed, .*jobs: 1, 2; "):
        list(run_jobs(abs, [1, 2, 3], workers=2, context=context))


def raise_end_of_file():
    """As when the process that forks workers is gone while a worker is asked for."""
    raise EOFError("unexpected EOF")


def test_torch_takes_one_thread_on_request(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert [*run_jobs(os.getenv, ["OMP_NUM_THREADS"], one_torch_thread=True)] == [("OMP_NUM_THREADS", "1")]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library than glibc")
def test_freed_memory_is_used_again():
    pages = dict(run_jobs(new_pages, [1, 20], workers=1))
    assert pages[20] < 2 * pages[1]


def parent(folder, *lines):
    """A process of its own that runs these lines."""
    imports = (
        "from dph_theory.support.processes import prepared, run_jobs",
        "from tests.support.process_jobs import *",
    )
    indented = (f"    {line}" for line in lines)
    (folder / "parent.py").write_text("\n".join([*imports, "if __name__ == '__main__':", *indented]))
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, folder / "parent.py"], env=here, **pipes)


def test_workers_of_a_prepared_context_have_loaded_its_modules(tmp_path):
    loaded = "print([found for _, found in run_jobs(has_loaded, ['colorsys'], context=context)])"
    with parent(tmp_path, "for context in (prepared('colorsys'), None):", f"    {loaded}") as running:
        assert running.communicate()[0].split() == ["[True]", "[False]"]


def test_workers_end_with_the_process(tmp_path):
    with parent(tmp_path, "list(run_jobs(say_then_sleep, ['begun']))") as running:
        assert running.stdout.readline() == "begun\n"
        running.kill()
        running.communicate(timeout=60)  # The output ends with the last process that holds it, a worker.


def test_a_killed_worker_is_named_with_the_way_on():
    with pytest.raises(RefusedError, match=r"a worker process was killed.* same command goes on"):
        list(run_jobs(os._exit, [9]))
