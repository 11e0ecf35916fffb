"""Jobs side by side, each in a process of its own, which ends with its parent; and Ctrl-C without harm."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver, get_all_start_methods, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import TypeVar

from .errors import RefusedError


@contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C takes effect after the block: within an import, compiled modules would turn it into ImportError.

    Outside the main thread, which alone gets it, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        signal.raise_signal(signal.SIGINT)


Job = TypeVar("Job")
Result = TypeVar("Result")

_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**25}
"""From which size on glibc gives freed memory back, and allocates it apart: tensors of a megabyte, freed and
allocated thousands of times a training, would each time come as new pages to be mapped and cleared."""


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    one_torch_thread: bool = False,
    on_late: Callable[[Job, Result], None] | None = None,
    on_death: Callable[[Job, BaseException], Result] | None = None,
    context: BaseContext | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Yield (job, function(job)) as each job finishes; at most `workers` at once, one a core by default.

    `function` and the jobs must be picklable. The first error is raised here, unless `on_death` turns what a
    job raised, or the death of its process, into a result. Ctrl-C reaches only this process. After an error,
    an interruption or an early end of the iteration, what has not begun is cancelled, and what has begun is
    ended; or finished first where `on_late` takes its result. If this process is killed, its workers end too.
    `context` may be one that is `prepared`. RefusedError names the jobs under way when a worker was killed.
    """
    if not jobs:
        return
    _set_memory()
    # Nothing is ever sent: the workers end when `alive` is closed, here or by this process's death.
    watched, alive = get_context("spawn").Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        min(workers or os.cpu_count() or 1, len(jobs)),
        # Spawned: what is forked from here may inherit locks and thread pools in the middle of something.
        mp_context=context or get_context("spawn"),
        initializer=_start_worker,
        initargs=(watched, one_torch_thread),
    )
    futures: dict[Future[Result], Job] = {}
    with watched, alive:
        try:
            with _interrupts_held():
                futures = {pool.submit(function, job): job for job in jobs}
            # What is yielded is forgotten; what stays was late.
            for future in as_completed([*futures]):
                job, error = futures.pop(future), future.exception() if on_death else None
                yield job, on_death(job, error) if on_death and error else future.result()
        except BrokenProcessPool as error:
            # The executor tells nobody which worker died: any of those under way may have been its job.
            begun = [str(getattr(job, "id", job))[:80] for f, job in futures.items() if f.running()]
            raise RefusedError(
                f"a worker process was killed, perhaps for want of memory, at one of these jobs: "
                f"{', '.join(begun) or 'the first ones'}; finished jobs are kept where the command stores "
                "them, and the same command goes on from there"
            ) from error
        except BaseException:
            if on_late is None:
                alive.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            for future, job in futures.items():
                if on_late and future.done() and not future.cancelled() and not future.exception():
                    on_late(job, future.result())


def in_order(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int = 2,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """The results of different jobs in the jobs' order, by `run_jobs` with one torch thread each.

    `on_result` is called as each ends. An interruption ends the workers and is passed on.
    """
    results = {}
    for job, result in run_jobs(function, jobs, workers=workers, one_torch_thread=True):
        results[job] = result
        if on_result is not None:
            on_result(result)
    return [results[job] for job in jobs]


def prepared(*modules: str) -> BaseContext:
    """A context for `run_jobs` whose workers have loaded these modules already; returns at once.

    They are forked from a process of one thread that does nothing else, and loads the modules once for all,
    beginning now. Where the system has no such processes, new ones are started as without it.
    """
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    _set_memory()
    context = get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    # Ctrl-C would end it with a traceback while it starts; its children unblock it.
    with _interrupts_held():
        forkserver.ensure_running()
    return context


def _set_memory() -> None:
    """What the workers, or the process that they are forked from, read as they start."""
    for name, size in _MEMORY.items():
        os.environ.setdefault(name, str(size))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the block has ended; processes begun in it ignore it. In the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # It would end the blocking where it starts.
    with deferred():  # Other threads do not block the signal: whichever receives it, it is noted.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(watched: Connection, one_torch_thread: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_when_closed, args=(watched,), daemon=True).start()
    if one_torch_thread:
        os.environ["OMP_NUM_THREADS"] = "1"  # Read when torch is imported, which may come later or never.
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)


def _end_when_closed(watched: Connection) -> None:
    watched.poll(None)
    os._exit(1)
