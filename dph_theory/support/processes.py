"""Parallel jobs in processes that end with their parent, and safe handling of Ctrl-C."""

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
    """Delay Ctrl-C until the block ends: during an import, compiled modules would turn it into ImportError.

    Outside the main thread, which alone receives Ctrl-C, nothing changes.
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
"""Sizes above which glibc returns freed memory and allocates by mmap: tensors of a megabyte, freed and
allocated thousands of times a training, would otherwise be mapped and cleared each time.
"""


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
    """Yield (job, function(job)) as each job finishes; at most `workers` at once, by default one per core.

    `function` and the jobs must be picklable. The first error is raised here, unless `on_death` converts a
    job's error, or the death of its process, to a result. Ctrl-C reaches only this process. After an error,
    an interruption or an early end of the iteration, pending jobs are cancelled and running jobs are ended,
    or finished first if `on_late` takes their results. If this process is killed, its workers end too.
    `context` may come from `prepared`. RefusedError names the running jobs if a worker is killed.
    """
    if not jobs:
        return
    _set_memory()
    # Nothing is ever sent: the workers end when `alive` is closed, here or by this process's death.
    watched, alive = get_context("spawn").Pipe(duplex=False)
    size = min(workers or os.cpu_count() or 1, len(jobs))
    pool = ProcessPoolExecutor(
        size,
        # Spawned, because a fork may inherit locks and thread pools in an inconsistent state.
        mp_context=context or get_context("spawn"),
        initializer=_start_worker,
        initargs=(watched, one_torch_thread),
    )
    futures: dict[Future[Result], Job] = {}
    with watched, alive:
        try:
            with _interrupts_held():
                try:
                    futures = {pool.submit(function, job): job for job in jobs}
                except EOFError as error:
                    raise BrokenProcessPool("the process that workers are forked from was killed") from error
            # Results that are yielded are forgotten; the remaining ones were late.
            for future in as_completed([*futures]):
                job, failure = futures[future], future.exception() if on_death else None
                result = on_death(job, failure) if on_death and failure else future.result()
                del futures[future]
                yield job, result
        except BrokenProcessPool as error:
            # The executor does not report which worker died. Jobs begin in their order, as many as there are
            # workers: the first unfinished ones were running.
            broken = [job for f, job in futures.items() if isinstance(f.exception(), BrokenProcessPool)]
            raise _killed((broken or jobs)[:size]) from error
        except BaseException:
            if on_late is None:
                alive.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            for future, job in futures.items():
                if on_late and future.done() and not future.cancelled() and not future.exception():
                    on_late(job, future.result())


def _killed(jobs: Sequence[Job]) -> RefusedError:
    names = [str(getattr(job, "id", job))[:80] for job in jobs]
    return RefusedError(
        "a worker process was killed, perhaps for want of memory, at "
        f"{'one of these jobs' if len(names) > 1 else 'this job'}: {', '.join(names)}; finished jobs are "
        "kept where the command stores them, and the same command goes on from there"
    )


def in_order(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int = 2,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Results of different jobs in the jobs' order, by `run_jobs` with one torch thread each.

    `on_result` is called as each job ends. An interruption ends the workers and is raised again.
    """
    results = {}
    for job, result in run_jobs(function, jobs, workers=workers, one_torch_thread=True):
        results[job] = result
        if on_result is not None:
            on_result(result)
    return [results[job] for job in jobs]


def prepared(*modules: str) -> BaseContext:
    """Context for `run_jobs` whose workers have these modules loaded; returns at once.

    Workers are forked from an idle single-threaded process, which starts loading the modules now. On systems
    without such a process, workers are started as usual.
    """
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    _set_memory()
    context = get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    # Ctrl-C would end the server with a traceback while it starts; its children unblock the signal.
    with _interrupts_held():
        forkserver.ensure_running()
    return context


def _set_memory() -> None:
    """Set environment variables that workers, or the process they are forked from, read at start."""
    for name, size in _MEMORY.items():
        os.environ.setdefault(name, str(size))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay Ctrl-C until the block ends; processes started in it ignore Ctrl-C. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # Its start inside the block would end the blocking.
    with deferred():  # Other threads do not block the signal; whichever thread receives it, it is recorded.
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
        os.environ["OMP_NUM_THREADS"] = "1"  # torch reads this at import, which may come later or never.
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)


def _end_when_closed(watched: Connection) -> None:
    watched.poll(None)
    os._exit(1)
