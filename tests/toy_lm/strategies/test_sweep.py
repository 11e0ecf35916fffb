from dataclasses import replace

import numpy as np
import pytest

from dph_theory.meter import LeadTime, lead_time
from toy_lm.strategies.config import Config
from toy_lm.strategies.measure import measure
from toy_lm.strategies.sweep import kept_steps, sweep
from toy_lm.strategies.train import Anchor, train

CONFIG = replace(
    Config(),
    learning_rate=1.0,
    steps=200,
    conditionings=(0.1, 1.0),
    strengths=(0.1, 1.0, 3.0),
    alphas=(0.5, 0.9),
    rises=(0.02, 0.1),
)


@pytest.fixture(scope="module")
def blocks():
    return sweep(CONFIG, lambda done, total: None)


def test_there_is_a_block_for_none_and_for_each_divergence_and_place(blocks):
    divergences = ["forward_kl", "jensen_shannon", "alpha_0.5", "reverse_kl", "alpha_0.9"]
    expected = [(None, None), *((d, place) for place in ("D_pef", "all prompts") for d in divergences)]
    assert [(block.divergence, block.place) for block in blocks] == expected
    shapes = {(b.divergence, np.shape(b.pass_at_k), np.shape(b.meter_step)) for b in blocks}
    assert (None, (2, 1), (2, 2, 1)) in shapes
    assert ("reverse_kl", (2, 3), (2, 2, 3)) in shapes
    assert ("alpha_0.9", (1, 3), (2, 1, 3)) in shapes


def test_an_entry_is_the_training_it_stands_for(blocks):
    block = next(b for b in blocks if (b.divergence, b.place) == ("jensen_shannon", "all prompts"))
    anchor, keep = Anchor(CONFIG.divergences["JS"], everywhere=True), kept_steps(200)
    run = train(CONFIG.task, anchor, np.array(0.2), np.array(1.0), CONFIG.optimiser, keep)
    found = measure(run, CONFIG.task, 16)
    # Its strength eta f''(1) is 0.1, and the f''(1) of JS 1/2.
    assert block.pass_at_k[1][0] == pytest.approx(found.pass_at_k[-1], rel=1e-12)
    for index, rise in enumerate(CONFIG.rises):
        expected = lead_time(keep, found.excess_kl, found.pass_at_k, rise=rise, fall=CONFIG.fall)
        assert LeadTime(block.meter_step[index][1][0], block.coverage_step[1][0]) == expected


def test_at_equal_curvature_strong_anchors_agree_and_weak_ones_do_not(blocks):
    ends = {b.divergence: b.pass_at_k[0] for b in blocks if b.place == "D_pef"}
    gaps = np.abs(np.subtract(ends["forward_kl"], ends["reverse_kl"]))
    assert gaps[-1] < 0.001 < 0.03 < gaps[0]


def test_progress_is_told_from_the_first_block_to_the_last():
    heard = []
    sweep(replace(CONFIG, steps=1), lambda done, total: heard.append((done, total)))
    assert heard == [(done, 11) for done in range(12)]


@pytest.mark.parametrize("steps", [1, 2, 100, 2000])
def test_steps_are_kept_finely_at_first_and_to_the_end(steps):
    kept = kept_steps(steps)
    assert (kept[0], kept[-1]) == (0, steps)
    gaps = np.diff(kept)
    assert (gaps >= 1).all()
    assert (gaps <= np.maximum(1, 0.04 * kept[1:] + 1)).all()
