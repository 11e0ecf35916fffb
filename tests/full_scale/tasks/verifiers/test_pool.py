"""Worker processes that judge: in order, each question once, none that holds up the others."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import MagicMock, call

import pytest
from support.sql_databases import make_database

from dph_theory.support.errors import RefusedError
from full_scale.tasks.protocol import Prompt, Score
from full_scale.tasks.verifiers.maths import MathsVerifier
from full_scale.tasks.verifiers.own import OwnVerifier
from full_scale.tasks.verifiers.pool import Dispatch, Limits, Pool, PooledVerifier, Worker
from full_scale.tasks.verifiers.sql import SqlVerifier
from full_scale.tasks.verifiers.worker import READY, JudgeOutcome, answer

JUDGE = "support.pool_judges:behave"


def pool(workers=1, seconds=20.0, memory=2**29, judge=JUDGE):
    return Pool(judge, Limits(seconds, memory), workers)


def echoes(count):
    return [{"do": "echo", "text": str(n)} for n in range(count)]


def details(replies):
    return [reply.get("detail") for reply in replies]


def pid(workers):
    return int(details(workers.map([{"do": "pid"}]))[0])


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_whatever_a_job_does_it_has_its_outcome_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    text = "é\ud800\n" * 200_000
    deeds = [
        ({"do": "sleep", "seconds": 0.3}, "done", "None"),
        ({"do": "echo", "text": text}, "done", text[:300]),
        # The process ends: a crash, counted, and another takes its place.
        ({"do": "die"}, "crash", ""),
        ({"do": "segfault"}, "crash", ""),
        ({"do": "exit"}, "crash", ""),
        ({"do": "raise"}, "crash", "IndexError: list index out of range (pool_judges.py, line"),
        # What is printed is no reply.
        ({"do": "shout"}, "done", "None"),
        ({"do": "write", "path": str(tmp_path / "x")}, "done", "File too large"),
        ({"do": "allocate", "bytes": 2**29}, "done", "refused"),
    ]
    jobs = [job for (deed, _, _), echo in zip(deeds, echoes(len(deeds)), strict=True) for job in (deed, echo)]
    with pool(2, memory=2**28) as workers:
        replies = workers.map([*jobs, {"do": "environment"}])
        assert workers.map([]) == []
    assert "HF_TOKEN" not in replies.pop()["detail"]
    assert details(replies[1::2]) == [str(n) for n in range(len(deeds))]
    for (deed, outcome, detail), reply in zip(deeds, replies[::2], strict=True):
        assert reply["outcome"] == outcome, deed["do"]
        assert reply.get("detail", "").startswith(detail), deed["do"]


def test_jobs_that_hang_are_timeouts_and_the_others_go_on():
    """One computes, in C, which the kernel ends, and one waits, which its pool does."""
    begun = time.monotonic()
    with pool(2, seconds=0.5) as workers:
        hang = [{"do": "compute"}, {"do": "sleep", "seconds": 600}]
        replies = workers.map([*hang, *echoes(5)])
    assert [reply["outcome"] for reply in replies] == 2 * ["timeout"] + 5 * ["done"]
    assert time.monotonic() - begun < 30


def test_a_limit_is_one_of_computing_and_not_of_the_wall():
    with pool(seconds=0.5) as workers:
        (reply,) = workers.map([{"do": "sleep", "seconds": 3.5}])
    assert reply["outcome"] == "done"


def test_what_a_judge_started_ends_with_its_worker_and_a_fork_answers_no_other_job():
    with pool(seconds=0.5) as workers:
        told = workers.map([{"do": "start"}, {"do": "fork"}, {"do": "sleep", "seconds": 0.6}, *echoes(3)])
        assert details(told[3:]) == ["0", "1", "2"]
        workers.map([{"do": "compute"}])
        child = int(told[0]["detail"])
        for _ in range(100):
            if not is_alive(child):
                break
            time.sleep(0.05)
        assert not is_alive(child)


def test_a_worker_lives_until_its_pool_is_closed_or_dropped():
    workers = pool(8)
    first = pid(workers)
    workers.map([{"do": "raise"}])
    assert pid(workers) == first
    # No more workers than there are jobs.
    assert len(workers._workers) == 1
    # One that dies while it is idle charges no job.
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert details(workers.map(echoes(1))) == ["0"]
    second = pid(workers)
    workers.close()
    # A closed pool starts anew.
    third = pid(workers)
    assert [is_alive(process) for process in (first, second, third)] == [False, False, True]
    del workers
    assert not is_alive(third)


def test_an_interrupted_batch_leaves_no_reply_for_the_next(monkeypatch):
    def interrupted(self, running):
        raise KeyboardInterrupt

    with pool() as workers:
        with monkeypatch.context() as patched:
            patched.setattr(Pool, "_finished", interrupted)
            with pytest.raises(KeyboardInterrupt):
                workers.map([{"do": "echo", "text": "old"}])
        assert details(workers.map([{"do": "echo", "text": "new"}])) == ["new"]


def test_threads_may_share_a_pool():
    found = {}
    with pool(2) as workers:

        def ask(count):
            found[count] = details(workers.map(echoes(count)))

        threads = [threading.Thread(target=ask, args=[count]) for count in (3, 5, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {count: [str(n) for n in range(count)] for count in (3, 5, 7)}


def test_a_worker_ends_with_its_input_and_one_that_computes_by_the_kernels_clock():
    """So that no process outlives a parent that was killed."""
    start = "import sys; from full_scale.tasks.verifiers.worker import main; main(*sys.argv[1:])"
    command = [sys.executable, "-c", start, JUDGE, str(2**28), "0.3"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for job, status in ((b"", 0), (b'1 {"do": "compute"}\n', -signal.SIGPROF)):
        done = subprocess.run(command, input=job, stdout=subprocess.PIPE, env=environment, timeout=30)
        assert (done.returncode, done.stdout) == (status, READY)


def test_an_exception_of_a_judge_is_an_outcome_that_says_where():
    found = json.loads(answer(lambda job: job["y" * 400], b"{}"))
    assert found == {"outcome": "crash", "detail": f"KeyError: '{'y' * 289}"}
    assert json.loads(answer(dict, b"no json"))["detail"].startswith("JSONDecodeError: Expecting value")


def test_processes_side_by_side_share_the_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    for processes, share in (("8", 2), ("32", 1)):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", processes)
        assert pool(None)._size == share


@pytest.mark.parametrize(("changed", "says"), [
    ({"seconds": 0.0}, "limits="), ({"memory": 0}, "limits="), ({"workers": 0}, "workers=0"),
    ({"judge": "support.pool_judges:absent"}, "(?s)no worker process.*absent"),
])  # fmt: skip
def test_a_pool_that_cannot_be_is_an_error_with_the_reason(changed, says):
    with pytest.raises((ValueError, RuntimeError), match=says), pool(**changed) as workers:
        workers.map(echoes(1))


class Words(PooledVerifier):
    """Asks the words of a completion; an empty one holds no answer."""

    def job(self, example, completion):
        return {"do": completion} if completion else None

    def style(self, job):
        return job["do"].upper()


def test_each_answer_is_judged_once_and_scored_in_order():
    with Words("support.pool_judges:verdict", Limits(20.0, 2**29), 1) as verifier:
        scores = verifier([Prompt("a", "?")] * 5, ["yes", "", "no", "yes", "count"])
    right, wrong = Score(True, JudgeOutcome.CORRECT, "YES"), Score(False, JudgeOutcome.WRONG, "NO")
    assert scores[:4] == [right, Score(False, JudgeOutcome.NO_ANSWER), wrong, right]
    assert scores[4].detail == "3"


def test_each_example_goes_to_its_verifier_in_one_batch():
    def told(examples, completions):
        return [Score(True, f"{e.id} {c}") for e, c in zip(examples, completions, strict=True)]

    named = {name: MagicMock(side_effect=told) for name in ("sql", "maths", "idle")}
    dispatch = Dispatch(named)
    examples = [Prompt(str(n), "", {"verifier": name}) for n, name in enumerate(("sql", "maths", "sql"))]
    assert [score.outcome for score in dispatch(examples, ["a", "b", "c"])] == ["0 a", "1 b", "2 c"]
    one, two, three = examples
    assert named["sql"].call_args_list == [call([one, three], ["a", "c"])]
    assert named["maths"].call_args_list == [call([two], ["b"])]
    named["idle"].assert_not_called()
    assert dispatch([], []) == []
    for reference in ({}, {"verifier": "html"}):
        with pytest.raises(ValueError, match=r"'7'.*one of sql"):
            dispatch([Prompt("7", "", reference)], ["a"])
    with pytest.raises(ValueError, match="shorter"):
        dispatch(examples, ["a"])
    dispatch.close()
    assert [each.close.call_count for each in named.values()] == [1, 1, 1]


def test_workers_that_end_before_they_take_an_answer_are_not_started_for_ever(monkeypatch):
    monkeypatch.setattr(Worker, "give", lambda *_: False)
    with pytest.raises(RefusedError, match=r"3 worker processes for .*behave ended before .* status -9"):
        pool().map(echoes(1))


def test_files_that_lie_in_the_working_folder_are_no_part_of_a_judge(tmp_path, monkeypatch):
    for name in ("json", "sqlite3", "sympy", "random", "token"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(3)\n")
    (tmp_path / "own.py").write_text(
        "import random\ndef right(answer, row):\n    return bool(random.random)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    database = make_database(tmp_path / "d.sqlite")
    row = Prompt("a", "?", {"database": str(database), "query": "SELECT 1", "answer": "1/2"})
    with SqlVerifier(workers=1) as sql, MathsVerifier(workers=1) as maths:
        assert [score.correct for score in sql([row], ["SELECT 1"])] == [True]
        assert [score.correct for score in maths([row], ["\\boxed{0.5}"])] == [True]
    for name in ("own:right", "own.py:right"):
        with OwnVerifier(name, workers=1) as own:
            assert [score.correct for score in own([row], ["x"])] == [True]
    assert not (tmp_path / "ran").exists()
