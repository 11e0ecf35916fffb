import numpy as np
import pytest
from support.sampled_counts import base_rates, covers, sampled

from dph_theory.counts.parts import parts, told_ks


def test_parts_add_up_and_tell_loss_from_narrowing():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.3, 0.7, 400)
    lost = parts(sampled(rng, before, np.where(np.arange(400) < 80, 0, before), 16).pairs, (1, 4), rng)[1]
    rarer = parts(sampled(rng, before, before / 2, 16, 12).pairs, (1, 4), rng)[1]
    for found in (lost, rarer):
        assert found.change.value == pytest.approx(found.solved_set.value + found.narrowing.value)
    assert lost.narrowing.low <= 0 <= lost.narrowing.high
    assert lost.solved_set.high < 0
    assert rarer.narrowing.high < 0
    assert abs(rarer.solved_set.value) < abs(rarer.narrowing.value) / 5


def test_parts_of_an_unchanged_run_cover_zero_also_at_unequal_numbers_of_answers():
    rng, trials, inside = np.random.default_rng(1), 200, []
    for _ in range(trials):
        before = base_rates(rng, 100)
        found = parts(sampled(rng, before, before, 12, 8).pairs, (2,), rng)[0]
        inside.append([e.low <= 0 <= e.high for e in (found.change, found.solved_set, found.narrowing)])
    for share in np.mean(inside, axis=0):
        assert covers(share, 0.95, trials, slack=0.01)


def test_tables_show_powers_of_two_and_the_most():
    assert told_ks(1) == (1,)
    assert told_ks(12) == (1, 2, 4, 8, 12)


def test_the_change_and_its_parts_are_covered():
    rng, n, trials = np.random.default_rng(7), 6, 200

    def drawn(prompts):
        before = base_rates(rng, prompts)
        return parts(sampled(rng, before, 0.7 * before + 0.1, n).pairs, (1, 4), rng)

    truth, found = drawn(400_000), [drawn(150) for _ in range(trials)]
    for place in range(2):
        for name in ("change", "solved_set", "narrowing"):
            wanted = getattr(truth[place], name).value
            seen = [getattr(one[place], name) for one in found]
            assert covers(np.mean([e.low <= wanted <= e.high for e in seen]), 0.95, trials, slack=0.01), name
