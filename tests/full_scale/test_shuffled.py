"""Stages, kills and replaced files in random order: a stage refuses, or ends with the undisturbed numbers."""

import os

import pytest
from support.shuffled_stages import KILLED, STAGES, WORLDS, Shuffle
from support.tiny_training import TRL_WARNS

SHUFFLES = int(os.environ.get("DPH_SHUFFLES", "4"))


@pytest.mark.slow
@pytest.mark.usefixtures("worker_processes")
@pytest.mark.filterwarnings(TRL_WARNS)
def test_a_stage_refuses_or_ends_with_the_numbers_of_the_undisturbed_run(tmp_path):
    shuffle = Shuffle(tmp_path)
    for stage in STAGES:
        # Numbers that are the same in every world could not show that one was taken for another.
        assert len({repr(shuffle.references[world][stage]) for world in WORLDS}) == len(WORLDS), stage
    ends = [end for seed in range(SHUFFLES) for _, _, end in shuffle.disturbed(seed)]
    finished, killed = ends.count(""), ends.count(KILLED)
    assert min(finished, killed, len(ends) - finished - killed) > 0
