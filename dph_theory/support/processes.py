"""Jobs side by side, each in a process of its own, which ends with what started it."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    one_torch_thread: bool = False,
    finish_begun: bool = False,
    on_death: Callable[[Job, BaseException], Result] | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Yield (job, function(job)) as each job finishes; at most `workers` at once, one a core by default.

    `function` and the jobs must be picklable. The first error is raised here, unless `on_death` turns what a
    job raised, or the death of its process, into a result. Ctrl-C reaches only this process. After an error,
    an interruption or an early end of the iteration, what has not begun is cancelled, and what has begun is
    ended, or finished first if `finish_begun`. If this process is killed, its workers end too.
    """
    if not jobs:
        return
    # Spawned, since a forked process may inherit locks and thread pools in the middle of something.
    context = get_context("spawn")
    # Nothing is ever sent: the workers end when `alive` is closed, here or by this process's death.
    watched, alive = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        min(workers or os.cpu_count() or 1, len(jobs)),
        mp_context=context,
        initializer=_start_worker,
        initargs=(watched, one_torch_thread),
    )
    with watched, alive:
        try:
            with _interrupts_held():
                futures = {pool.submit(function, job): job for job in jobs}
            for future in as_completed(futures):
                error = future.exception() if on_death else None
                yield (
                    futures[future],
                    on_death(futures[future], error) if on_death and error else future.result(),
                )
        except BaseException:
            if not finish_begun:
                alive.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C takes effect after the block; what starts within it sees none. Only a main thread can do it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    resource_tracker.ensure_running()  # It would end the blocking where it starts.
    came: list[int] = []
    # Other threads do not block the signal: whichever receives it, it is noted and nothing more.
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, handler)
    if came:
        signal.raise_signal(signal.SIGINT)


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
