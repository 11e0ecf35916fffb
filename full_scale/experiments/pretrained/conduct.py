"""A run of any kind of the pretrained Llama."""

from .noise_training import train_with_baseline
from .runs import FinishedOpenRun, OpenRun
from .stationary_training import train_in_expectation, train_under_trl
from .training import train_on_samples


def conduct(path: str, run: OpenRun, pinned: tuple[int, ...] = ()) -> FinishedOpenRun:
    """A run of any kind, from the model of the path, with the texts that it holds at the base."""
    if run.trainer == "trl":
        return train_under_trl(path, run)
    if run.seed is None:
        return train_in_expectation(path, run)
    if run.baseline is not None:
        return train_with_baseline(path, run)
    return train_on_samples(path, run, pinned)
