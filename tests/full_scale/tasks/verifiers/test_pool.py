"""What the verifiers share: each question judged once, scores in order, no worker without a question."""

import os
import threading
import time

import pytest

from full_scale.tasks.protocol import Prompt, Score
from full_scale.tasks.verifiers.pool import Dispatch, Limits, Pool, PooledVerifier
from full_scale.tasks.verifiers.worker import JudgeOutcome

JUDGE = "support.pool_judges:behave"


def pool(workers=2, seconds=20.0, memory=2**29, judge=JUDGE):
    return Pool(judge, Limits(seconds, memory), workers)


def echoes(count):
    return [{"do": "echo", "text": str(n)} for n in range(count)]


def outcomes(replies):
    return [reply["outcome"] for reply in replies]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(workers):
    return int(workers.map([{"do": "pid"}])[0]["detail"])


def test_replies_come_in_the_order_of_the_jobs():
    with pool() as workers:
        assert workers.map([]) == []
        slow = [{"do": "sleep", "seconds": 0.3}, *echoes(50)]
        assert [reply["detail"] for reply in workers.map(slow)] == ["None", *map(str, range(50))]


def test_large_jobs_pass():
    with pool(1) as workers:
        text = "é\ud800\n" * 200_000
        assert workers.map([{"do": "echo", "text": text}]) == [{"outcome": "done", "detail": text[:300]}]


def test_an_interrupted_batch_leaves_no_reply_for_the_next(monkeypatch):
    def interrupted(self, running):
        raise KeyboardInterrupt

    with pool(1) as workers:
        with monkeypatch.context() as patched:
            patched.setattr(Pool, "_finished", interrupted)
            with pytest.raises(KeyboardInterrupt):
                workers.map([{"do": "echo", "text": "old"}])
        assert workers.map([{"do": "echo", "text": "new"}])[0]["detail"] == "new"


@pytest.mark.parametrize("deed", ["die", "segfault", "exit"])
def test_a_worker_that_dies_is_a_counted_crash_and_is_replaced(deed):
    with pool(1) as workers:
        replies = workers.map([{"do": "echo", "text": "a"}, {"do": deed}, {"do": "echo", "text": "b"}])
    assert outcomes(replies) == ["done", "crash", "done"]


def test_an_exception_is_a_crash_that_costs_no_worker():
    with pool(1) as workers:
        replies = workers.map([{"do": "pid"}, {"do": "raise"}, {"do": "pid", "again": True}])
    assert replies[1]["outcome"] == "crash"
    assert "IndexError" in replies[1]["detail"]
    assert replies[0] == replies[2]


@pytest.mark.parametrize("job", [{"do": "compute"}, {"do": "sleep", "seconds": 600}])
def test_a_job_that_hangs_is_a_timeout_and_the_others_go_on(job):
    begun = time.monotonic()
    with pool(2, seconds=0.2) as workers:
        replies = workers.map([job, *echoes(5)])
    assert outcomes(replies) == ["timeout"] + 5 * ["done"]
    assert time.monotonic() - begun < 30


def test_workers_stay_and_close_ends_them():
    workers = pool(1)
    pid = pid_of(workers)
    assert pid_of(workers) == pid
    workers.close()
    assert not is_alive(pid)
    # A closed pool starts anew.
    assert pid_of(workers) != pid
    workers.close()


def test_no_more_workers_start_than_there_are_jobs():
    with pool(8) as workers:
        workers.map(echoes(2))
        assert len(workers._workers) == 2


def test_a_worker_that_dies_while_idle_charges_no_job():
    with pool(1) as workers:
        pid = pid_of(workers)
        os.kill(pid, 9)
        time.sleep(0.1)
        assert outcomes(workers.map(echoes(3))) == 3 * ["done"]


def test_a_pool_that_is_dropped_ends_its_workers():
    workers = pool(1)
    pid = pid_of(workers)
    del workers
    assert not is_alive(pid)


def test_a_worker_writes_no_file_and_keeps_within_its_memory(tmp_path):
    with pool(1, memory=2**28) as workers:
        jobs = [{"do": "write", "path": str(tmp_path / "x")}, {"do": "allocate", "bytes": 2**29}]
        written, allocated = (reply["detail"] for reply in workers.map(jobs))
    assert written == "File too large"
    assert allocated == "refused"


def test_a_worker_sees_no_secret_of_the_environment(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    with pool(1) as workers:
        assert "HF_TOKEN" not in workers.map([{"do": "environment"}])[0]["detail"]


def test_threads_may_share_a_pool():
    found = {}
    with pool() as workers:
        threads = [
            threading.Thread(target=lambda n=n: found.update({n: workers.map(echoes(n))})) for n in (3, 5, 7)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {n: [reply["detail"] for reply in replies] for n, replies in found.items()} == {
        n: [*map(str, range(n))] for n in (3, 5, 7)
    }


def test_a_judge_that_cannot_be_loaded_is_an_error_with_the_reason():
    with pool(judge="support.pool_judges:absent") as workers, pytest.raises(RuntimeError, match="absent"):
        workers.map(echoes(1))


def test_processes_side_by_side_share_the_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert Pool(JUDGE, Limits(1.0, 2**28))._size == 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "32")
    assert Pool(JUDGE, Limits(1.0, 2**28))._size == 1


@pytest.mark.parametrize(
    ("limits", "workers", "name"),
    [(Limits(0.0, 1), 1, "limits"), (Limits(1.0, 0), 1, "limits"), (Limits(1.0, 1), 0, "workers")],
)
def test_impossible_limits_are_refused(limits, workers, name):
    with pytest.raises(ValueError, match=name):
        Pool(JUDGE, limits, workers)


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


class Named:
    """A verifier that says who it is, and remembers what it was asked."""

    def __init__(self, name):
        self.name, self.calls, self.closed = name, [], False

    def __call__(self, examples, completions):
        self.calls.append(list(completions))
        return [
            Score(True, f"{self.name} {example.id} {c}")
            for example, c in zip(examples, completions, strict=True)
        ]

    def close(self):
        self.closed = True


def example(identity, verifier):
    return Prompt(identity, "", {"verifier": verifier})


def test_each_example_goes_to_its_verifier_in_one_batch():
    sql, maths, idle = Named("sql"), Named("maths"), Named("idle")
    dispatch = Dispatch({"sql": sql, "maths": maths, "idle": idle})
    examples = [example("1", "sql"), example("2", "maths"), example("3", "sql")]
    outcomes = [score.outcome for score in dispatch(examples, ["a", "b", "c"])]
    assert outcomes == ["sql 1 a", "maths 2 b", "sql 3 c"]
    assert (sql.calls, maths.calls, idle.calls) == ([["a", "c"]], [["b"]], [])
    assert dispatch([], []) == []
    dispatch.close()
    assert sql.closed
    assert maths.closed


@pytest.mark.parametrize("reference", [{}, {"verifier": "html"}])
def test_an_example_for_nobody_is_named(reference):
    dispatch = Dispatch({"sql": Named("sql")})
    with pytest.raises(ValueError, match=r"'7'.*one of sql"):
        dispatch([Prompt("7", "", reference)], ["a"])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="shorter"):
        Dispatch({"sql": Named("sql")})([example("1", "sql")], [])
