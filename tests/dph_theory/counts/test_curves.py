import numpy as np
import pytest
from support.sampled_counts import base_rates, covers, sampled

from dph_theory import exact_pass_at_k, pass_at_k
from dph_theory.counts import Pairs
from dph_theory.counts.curves import PassTable, curves, first_worse


def drawn(seed, prompts=60):
    rng = np.random.default_rng(seed)
    before = base_rates(rng, prompts)
    after = np.clip(before * 1.5 - 0.1, 0, 1)
    return sampled(rng, before, after, rng.integers(20, 30, prompts), rng.integers(22, 26, prompts))


def test_bands_agree_with_the_published_package_to_rounding():
    reference = pytest.importorskip("passk_inference")
    pairs = drawn(0).pairs
    wanted = reference.compare(
        pairs.base_c, pairs.base_n, pairs.run_c, pairs.run_n, bootstrap=300, alpha=0.1, seed=5
    )
    found = curves(pairs, draws=300, level=0.9, seed=5)
    names = {
        "base_pass_at_k": "base",
        "rl_pass_at_k": "run",
        "mean": "difference",
        "lower": "low",
        "upper": "high",
    }
    for theirs, ours in names.items():
        assert getattr(found, ours) == pytest.approx(wanted[theirs], abs=1e-12), ours
    assert found.critical == pytest.approx(wanted["critical_value"], abs=1e-10)
    assert list(found.first_worse) == wanted["first_loss_interval"]
    assert list(found.worse) == wanted["certified_negative_budgets"]
    assert list(found.better) == wanted["certified_positive_budgets"]


def test_the_table_is_pass_at_k_also_when_it_is_formed_in_blocks(monkeypatch):
    n, c = np.array([5, 5, 9, 7]), np.array([0, 5, 2, 6])
    ks = np.array([1, 3, 5])
    wanted = pass_at_k(n[:, None], c[:, None], ks)
    kept = PassTable(n, c, ks)
    monkeypatch.setattr("dph_theory.counts.curves._KEPT", 0)
    monkeypatch.setattr("dph_theory.counts.curves._BLOCK", 5)
    formed = PassTable(n, c, ks)
    weights = np.arange(8.0).reshape(2, 4)
    for table in (kept, formed):
        assert table.rows(table.place) == pytest.approx(wanted)
    assert formed.times(weights) == pytest.approx(kept.times(weights))


def test_many_prompts_give_the_band_that_their_multipliers_give(monkeypatch):
    pairs = drawn(3, 400).pairs
    multiplied = curves(pairs, draws=20_000)
    monkeypatch.setattr("dph_theory.counts.curves._MULTIPLIED", 0)
    found = curves(pairs, draws=20_000)
    # Both are quantiles of 20 000 draws of one law.
    assert found.critical == pytest.approx(multiplied.critical, rel=0.015)
    assert found.critical > 2.1
    assert curves(Pairs.of([4, 4], [4, 4], 4, [4, 4]), draws=10).critical == 0


def test_the_band_covers_all_k_at_once_and_the_set_the_first_loss():
    rng, trials, inside, first = np.random.default_rng(1), 120, 0, 0
    k = np.arange(1, 9)
    for _ in range(trials):
        before = base_rates(rng, 150)
        # Prompts are drawn anew each time, so that the truth is that of the population, found once below.
        found = curves(sampled(rng, before, 0.8 * before + 0.1 * (before > 0.3), 8).pairs, draws=200)
        inside += bool(((found.low <= TRUTH) & (found.high >= TRUTH)).all())
        start, end = found.first_worse
        first += start <= LOSS and (end is None or end >= LOSS)
    assert covers(inside / trials, 0.95, trials, slack=0.01)
    assert first / trials >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)
    assert len(TRUTH) == len(k)


def _truth():
    before = np.random.default_rng(99).beta(0.4, 0.6, 400_000)
    k = np.arange(1, 9)[:, None]
    gap = exact_pass_at_k(0.8 * before + 0.1 * (before > 0.3), k) - exact_pass_at_k(before, k)
    return gap.mean(axis=1)


TRUTH = _truth()
LOSS = int(np.flatnonzero(TRUTH < 0)[0]) + 1


def test_the_set_of_first_losses_follows_the_band():
    k = np.arange(1, 5)
    assert first_worse(k, np.array([0.1, -0.1, -0.1, -0.2]), np.array([0.2, 0.1, 0.1, -0.1])) == (2, 4)
    assert first_worse(k, np.full(4, 0.1), np.ones(4)) == (5, None)
    assert first_worse(k[::2], np.ones(2), np.ones(2)) is None


def test_prompts_that_all_agree_say_nothing_of_others():
    found = curves(Pairs.of([4, 4], [4, 4], 4, [4, 4]), draws=10)
    assert found.low == (-1,) * 4
    assert found.high == (1,) * 4


@pytest.mark.parametrize("ks", [[2, 1], [], [31]])
def test_k_must_increase_up_to_the_fewest_answers(ks):
    with pytest.raises(ValueError, match="increasing whole numbers"):
        curves(drawn(0).pairs, ks)


def test_one_prompt_has_no_interval():
    with pytest.raises(ValueError, match="prompts=1 is not allowed: at least two"):
        curves(Pairs.of([4], [2], 4, [3]))
