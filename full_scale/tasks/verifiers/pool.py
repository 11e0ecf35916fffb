"""Worker processes that judge jobs, the base class of verifiers that use them, and dispatch in a task."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, get_type_hints

from dph_theory.support.checking import typed_arguments
from dph_theory.support.errors import RefusedError, argument_error, choice
from dph_theory.support.table import printable

from ..protocol import Prompt, Score, Verifier, bound_to, matches
from .worker import READY, JudgeOutcome, Reply

START_SECONDS = 120.0
"""Time limit for the start of a worker, sufficient even on a busy machine."""
STARTS = 3
"""Number of workers started for one job before it fails."""
GRACE_SECONDS, PATIENCE = 2.0, 10.0
"""Wall time after which the parent kills a worker: PATIENCE times the job's limit plus GRACE_SECONDS. The
limit itself counts CPU time and is enforced by the kernel, so that the machine's load affects no reward."""

_START = (
    "import json, sys; sys.path += json.loads(sys.argv.pop(1)); "
    "from full_scale.tasks.verifiers.worker import main; main(*sys.argv[1:])"
)
"""Program of a worker, whose first argument lists the folders to import from."""
_LIBRARY = frozenset(map(sysconfig.get_path, ("stdlib", "platstdlib")))
_PASSED_ON = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")
"""Environment variables that a Python process may need to start."""

Job = Mapping[str, Any]


class Limits(NamedTuple):
    """Limits of a worker: CPU seconds per job, and bytes of address space and of written files.

    `environment` lists variables that it may see; `first` is a module imported before the limits apply.
    """

    seconds: float
    memory: int
    write: int = 0
    environment: tuple[str, ...] = ()
    first: str = ""


class Worker:
    """A worker process that starts on construction and is awaited at its first job."""

    def __init__(self, judge: str, limits: Limits) -> None:
        self._judge, self._limits, self._ready, self.deadline = judge, limits, False, 0.0
        self._number = 0
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        self.socket, theirs = socket.socketpair()
        self._replies = self.socket.makefile("rb")
        # The standard library comes first, and the working folder only for a user's own judge, which adds it:
        # a file json.py there must not replace the standard one.
        paths = [str(Path(path).resolve()) for path in sys.path if path]
        command = [
            *("-B", "-P", "-c", _START, json.dumps([path for path in paths if path not in _LIBRARY])),
            judge,
            str(limits.memory),
            str(limits.seconds),
            str(limits.write),
            limits.first,
        ]
        # The worker sees the variables for imports and the named ones, but no secrets.
        names = (*_PASSED_ON, *limits.environment)
        environment = {key: os.environ[key] for key in names if key in os.environ}
        # A separate program, not a fork of a parent with threads and a GPU, in a separate
        # session, so that the parent handles keyboard interrupts.
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors,
                env=environment,
                start_new_session=True,
            )

    def give(self, job: bytes) -> bool:
        """Send a job and start its clock; false if the process died while it was idle."""
        self._await_ready()
        self._number += 1
        try:
            self.socket.sendall(b"%d %b" % (self._number, job))
        except OSError:
            return False
        self.deadline = time.monotonic() + PATIENCE * self._limits.seconds + GRACE_SECONDS
        return True

    def take(self) -> Reply | None:
        """Reply to the current job, or None if the process ended or exceeded its time.

        A judge that forks may reply twice; replies to other jobs are skipped.
        """
        number, line = b"", b""
        while number != b"%d" % self._number:
            try:
                self.socket.settimeout(max(self.deadline - time.monotonic(), 0.01))
                number, _, line = self._replies.readline().partition(b" ")
            except OSError:
                return None
            if not line.endswith(b"\n"):
                return None
        reply: Reply = json.loads(line)
        return reply

    def stop(self) -> int:
        """Kill the process and its children, and return its exit status."""
        # Kill its session. The id is not reused before the process is waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        for resource in (self._replies, self.socket, self._errors):
            resource.close()
        return self._process.wait()

    def _await_ready(self) -> None:
        if self._ready:
            return
        self.socket.settimeout(START_SECONDS)
        try:
            greeting = self._replies.readline()
        except OSError as error:
            greeting = str(error).encode()
        if greeting != READY:
            self._errors.seek(0)
            printed = self._errors.read().decode(errors="replace").strip()[-2000:]
            reason = printed or repr(greeting)
            raise RefusedError(f"no worker process for {self._judge} could be started: {reason}")
        self._ready = True


class Pool(AbstractContextManager["Pool"]):
    """A pool of persistent workers; `map` judges each distinct job once, and returns replies in job order.

    `judge` is `module:function`, from a job (a JSON-ready mapping) to a reply (a small mapping with an
    `outcome`). If a worker runs out of time or dies, the job's outcome is `timeout` or `crash`; no job makes
    `map` raise. Raises RefusedError if workers cannot be started, because no reward would be meaningful then.
    `workers` is their largest number (default: this process's share of the CPUs). Workers start on demand,
    `close` ends them, and the pool can be used again, from any thread.
    """

    def __init__(self, judge: str, limits: Limits, workers: int | None = None) -> None:
        # Several processes may train in parallel on the machine.
        own_cpus = max(1, len(os.sched_getaffinity(0)) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
        size = own_cpus if workers is None else workers
        if size < 1:
            raise argument_error("workers", workers, "at least 1")
        if limits.seconds <= 0 or limits.memory <= 0 or limits.write < 0:
            raise argument_error("limits", limits, "seconds and memory above 0, write at least 0")
        self._judge, self._limits, self._size = judge, limits, size
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        weakref.finalize(self, _stop, self._workers)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        _stop(self._workers)

    def map(self, jobs: Sequence[Job]) -> list[Reply]:
        """Return one reply for each job, in order."""
        lines = [json.dumps(job).encode() + b"\n" for job in jobs]
        replies: dict[bytes, Reply] = {line: {} for line in lines}
        queue = iter([*replies])
        with self._lock, selectors.DefaultSelector() as running:
            try:
                while len(self._workers) < min(self._size, len(replies)):
                    self._workers.append(Worker(self._judge, self._limits))
                for slot in range(len(self._workers)):
                    self._next(slot, queue, running)
                while running.get_map():
                    for slot, job, reply in self._finished(running):
                        replies[job] = reply
                        self._next(slot, queue, running)
            except BaseException:
                # Busy workers would send their replies to the next batch's jobs.
                self.close()
                raise
        return [replies[line] for line in lines]

    def _next(self, slot: int, queue: Iterator[bytes], running: selectors.DefaultSelector) -> None:
        """Send the next job of the queue, if any, to the worker at `slot`, restarting it if necessary."""
        for job in queue:
            for _ in range(STARTS):
                if self._workers[slot].give(job):
                    break
                status = self._replace(slot)
            else:
                raise RefusedError(
                    f"{STARTS} worker processes for {self._judge} ended before they took an answer, the last "
                    f"with status {status}: an import of {self._limits.first or 'the judge'} may end them"
                )
            running.register(self._workers[slot].socket, selectors.EVENT_READ, (slot, job))
            return

    def _finished(self, running: selectors.DefaultSelector) -> list[tuple[int, bytes, Reply]]:
        """Wait for a reply, death or deadline; return the slots that are free again, with their replies."""
        deadlines = [self._workers[key.data[0]].deadline for key in running.get_map().values()]
        ready = [key for key, _ in running.select(max(0.0, min(deadlines) - time.monotonic()))]
        done = []
        for key in list(running.get_map().values()):
            slot, job = key.data
            late = self._workers[slot].deadline <= time.monotonic()
            if key not in ready and not late:
                continue
            running.unregister(key.fileobj)
            reply = self._workers[slot].take() if key in ready else None
            if reply is None:
                status = self._replace(slot)
                reply = {"outcome": JudgeOutcome.CRASH}
                if late or status == -signal.SIGPROF:
                    detail = f"no verdict after {self._limits.seconds:g} s"
                    reply = {"outcome": JudgeOutcome.TIMEOUT, "detail": detail}
            done.append((slot, job, reply))
        return done

    def _replace(self, slot: int) -> int:
        status = self._workers[slot].stop()
        self._workers[slot] = Worker(self._judge, self._limits)
        return status


def _stop(workers: list[Worker]) -> None:
    while workers:
        workers.pop().stop()


class PooledVerifier(AbstractContextManager["PooledVerifier"]):
    """A verifier whose judge runs in worker processes; a context manager that ends them.

    Subclasses define the judge's job for an answer (`job`). Equal jobs in a batch are judged once. Raises
    RefusedError if no worker can be started.
    """

    def __init__(self, judge: str, limits: Limits, workers: int | None) -> None:
        self._pool = Pool(judge, limits, workers)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
        """Return one score for each pair of example and completion, in order."""
        jobs = [self.job(*pair) for pair in zip(examples, completions, strict=True)]
        replies = iter(self._pool.map([job for job in jobs if job is not None]))
        return [
            Score(False, JudgeOutcome.NO_ANSWER) if job is None else self._score(job, next(replies))
            for job in jobs
        ]

    def _score(self, job: Job, reply: Reply) -> Score:
        outcome = JudgeOutcome(reply["outcome"])
        detail = printable(str(reply.get("detail", "")))
        return Score(outcome is JudgeOutcome.CORRECT, outcome, self.style(job), detail, reply.get("value"))

    @property
    def bound(self) -> dict[str, Any]:
        """Settings on which the rewards depend."""
        return {}

    @abstractmethod
    def job(self, example: Prompt, completion: str) -> Job | None:
        """JSON-ready job for the judge; None if there is no answer. ValueError for an invalid reference."""

    def style(self, job: Job) -> str | None:
        """Style of the answer, if the task defines styles."""
        return None


def with_options(maker: Any, values: Mapping[str, Any], where: str, *given: str, **fixed: Any) -> Any:
    """Build a verifier or a reward with these options; ValueError for unknown options."""
    hints = get_type_hints(maker.__init__)
    # Arguments that are set already, and the return type, are no options.
    hints = {key: hint for key, hint in hints.items() if key not in ("return", "function", "style")}
    return maker(*given, **fixed, **typed_arguments(hints, values, where))


def required_fields(example: Prompt, *names: str) -> list[Any]:
    """Values of these fields of an example's reference; ValueError for a missing field."""
    for name in names:
        if example.reference.get(name) in (None, ""):
            given = dict(example.reference)
            raise argument_error(f"reference of {example.id!r}", given, f"needs {name!r}")
    return [example.reference[name] for name in names]


class Dispatch:
    """Dispatch of each example to the verifier that its reference names; ValueError for unknown names."""

    def __init__(self, verifiers: Mapping[str, Verifier]) -> None:
        self._verifiers = dict(verifiers)

    @property
    def bound(self) -> dict[str, Any]:
        """Settings of all verifiers on which rewards depend."""
        settings: dict[str, Any] = {}
        for verifier in self._verifiers.values():
            settings |= bound_to(verifier)
        return settings

    def match_of(self, example: Prompt) -> str | None:
        """Execution match that the example's verifier uses."""
        names = matches(self._verifiers[example.reference["verifier"]], [example])
        return names[0] if names else None

    def close(self) -> None:
        """Close every verifier."""
        for verifier in self._verifiers.values():
            verifier.close()

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[Score]:
        """Return one score for each pair, with one call per verifier."""
        pairs = [*zip(examples, completions, strict=True)]
        scores: dict[int, Score] = {}
        for example in examples:
            choice(f"verifier of {example.id!r}", example.reference.get("verifier"), self._verifiers)
        for name, verifier in self._verifiers.items():
            mine = [at for at, (example, _) in enumerate(pairs) if example.reference["verifier"] == name]
            if mine:
                answers = verifier([pairs[at][0] for at in mine], [pairs[at][1] for at in mine])
                scores |= dict(zip(mine, answers, strict=True))
        return [scores[at] for at in range(len(pairs))]
