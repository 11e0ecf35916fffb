"""Settings shared by all tests."""

import gc
import os
import pickle
import signal
from concurrent import futures

import pytest
from hypothesis import settings
from support.shape_checks import decorate_leaner

# Set before anything asks the hub: what is not at hand is missing at once, without a look at the network.
os.environ["HF_HUB_OFFLINE"] = "1"
# Here as in every process that a test starts: the last digits of a sum depend on the number of threads.
os.environ["OMP_NUM_THREADS"] = "1"
# A job in the background ignores interrupts, as would all that it starts; tests interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# No deadlines: machines are shared. Forty examples a property: with the hundred that hypothesis draws by
# default they would take half of the suite's time; HYPOTHESIS_EXAMPLES asks for another number.
# In continuous integration the same examples are drawn every time.
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "40"))
settings.register_profile("here", deadline=None, max_examples=EXAMPLES)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("ci" if os.environ.get("CI") else "here")

decorate_leaner()
gc.disable()


def pytest_collection_finish():
    """What is loaded by now stays: the collector need not go through it, neither now nor again and again."""
    gc.freeze()
    gc.enable()


class InThisProcess(futures.Executor):
    """Runs jobs as they are given, in place of workers that would each import anew what their job needs."""

    def __init__(self, *args, **options):
        pass

    def submit(self, function, job):
        made = futures.Future()
        try:
            sent, job = pickle.loads(pickle.dumps((function, job)))  # As a worker would receive them.
            made.set_result(sent(job))
        except Exception as error:
            made.set_exception(error)
        return made


@pytest.fixture(autouse=True, scope="session")
def _one_process():
    from dph_theory.support import processes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "ProcessPoolExecutor", InThisProcess)
        yield


@pytest.fixture
def worker_processes(monkeypatch):
    """For tests whose subject the processes are."""
    monkeypatch.setattr("dph_theory.support.processes.ProcessPoolExecutor", futures.ProcessPoolExecutor)
