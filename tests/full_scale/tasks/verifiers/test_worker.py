import json
import os
import signal
import subprocess
import sys
import time

from full_scale.tasks.verifiers.worker import LONGEST_DETAIL, READY, answer


def reply(judge, job):
    return json.loads(answer(judge, json.dumps(job).encode()))


def test_an_exception_is_an_outcome():
    found = reply(lambda job: job["y"], {})
    assert found["outcome"] == "crash"
    assert found["detail"].startswith("KeyError: 'y' (test_worker.py, line ")
    assert json.loads(answer(dict, b"no json"))["outcome"] == "crash"


def test_a_long_detail_is_cut():
    assert len(reply(lambda job: {"outcome": "o", "detail": "x" * 9999}, {})["detail"]) == LONGEST_DETAIL


def started(judge, seconds):
    command = [
        sys.executable,
        "-m",
        "full_scale.tasks.verifiers.worker",
        f"support.pool_judges:{judge}",
        str(2**28),
        str(seconds),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def test_a_worker_answers_line_by_line_and_ends_with_its_input():
    with started("behave", 5) as process:
        jobs = [{"do": "echo", "text": "a"}, {"do": "shout"}, {"do": "echo", "text": "b"}]
        out, _ = process.communicate("".join(json.dumps(job) + "\n" for job in jobs).encode())
    assert process.returncode == 0
    assert out.startswith(READY)
    details = [json.loads(line)["detail"] for line in out.splitlines()[1:]]
    assert details == ["a", "None", "b"]


def test_an_orphan_that_computes_is_ended_by_the_kernel():
    with started("behave", 0.3) as process:
        assert process.stdout.readline() == READY
        begun = time.monotonic()
        process.stdin.write(b'{"do": "compute"}\n')
        process.stdin.close()
        process.wait()
    assert process.returncode == -signal.SIGPROF
    assert time.monotonic() - begun < 30
