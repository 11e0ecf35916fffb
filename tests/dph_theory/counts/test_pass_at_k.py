import numpy as np
import pytest
from scipy.special import expit, logit
from support.sampled_counts import base_rates, covers, sampled

from dph_theory import exact_pass_at_k, pass_at_k
from dph_theory.counts import Pairs
from dph_theory.counts.pass_at_k import (
    CHANCE,
    change_parts,
    curves,
    first_worse,
    gaps,
    needed,
    pass_curves,
    told_ks,
)
from dph_theory.intervals import bounded_mean


def drawn(seed, prompts=60):
    rng = np.random.default_rng(seed)
    before = base_rates(rng, prompts)
    after = np.clip(before * 1.5 - 0.1, 0, 1)
    return sampled(rng, before, after, rng.integers(20, 30, prompts), rng.integers(22, 26, prompts))


def test_curves_are_those_of_the_published_package_and_its_band_is_that_of_many_prompts():
    reference = pytest.importorskip("passk_inference")
    pairs = drawn(0, 3000).pairs
    wanted = reference.compare(
        pairs.base_c, pairs.base_n, pairs.run_c, pairs.run_n, bootstrap=2000, alpha=0.1, seed=5
    )
    found = pass_curves(pairs, range(1, pairs.least + 1), draws=2000, level=0.9, seed=5)
    names = {"base_pass_at_k": "base", "rl_pass_at_k": "run", "mean": "difference"}
    for theirs, ours in names.items():
        assert getattr(found, ours) == pytest.approx(wanted[theirs], abs=1e-12), ours
    # A prompt that was not seen weighs 1/3000, a normal tail of it a few times that.
    assert found.low == pytest.approx(wanted["lower"], abs=2e-3)
    assert found.high == pytest.approx(wanted["upper"], abs=2e-3)


def mostly_solved(rng, prompts):
    """Nearly every prompt is solved a little better; of thirty one is no longer solved at all."""
    before = rng.beta(4, 4, prompts)
    return before, np.where(rng.random(prompts) < 1 / 30, 0.0, expit(logit(before) + 0.3))


def test_the_band_covers_what_thirty_prompts_often_do_not_show():
    rng, trials, k = np.random.default_rng(2), 100, np.arange(1, 65)
    before, after = mostly_solved(rng, 200_000)
    truth = np.array([(exact_pass_at_k(after, j) - exact_pass_at_k(before, j)).mean() for j in k.tolist()])
    found = [pass_curves(sampled(rng, *mostly_solved(rng, 30), 64).pairs, draws=200) for _ in range(trials)]
    inside = [((np.array(f.low) <= truth) & (truth <= f.high)).all() for f in found]
    # A third of the samples hold no lost prompt, and the spread among the others is next to none at k = 64.
    assert np.mean(inside) >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)
    # As few prompts as carry the spread tell where that is so.
    assert min(f.effective[-1] for f in found) < 2


def test_curves_are_pass_at_k_of_each_prompt():
    n, c = np.array([5, 5, 9, 7]), np.array([0, 5, 2, 6])
    ks = [1, 3, 5]
    assert curves(n, c, ks) == pytest.approx(pass_at_k(n[:, None], c[:, None], np.array(ks)))


def test_prompts_with_fewer_answers_than_the_largest_k_are_left_out():
    rng = np.random.default_rng(4)
    whole = sampled(rng, *mostly_solved(rng, 60), 8).pairs
    short = Pairs.of(*(np.append(a, b) for a, b in zip(vars(whole).values(), (8, 3, 1, 1), strict=True)))
    alone, found = pass_curves(whole, draws=50), pass_curves(short, draws=50)
    # One of 61 prompts lacks most k: it is left out of all of them.
    assert found == alone
    assert found.prompts == 60
    # Where more than one of twenty prompts lack it, k ends unless it is asked for.
    assert pass_curves(Pairs.of(8, [3, 4, 5], [8, 8, 1], [2, 2, 1]), draws=10).k == (1,)
    assert pass_curves(Pairs.of(8, [3, 4, 5], [8, 8, 1], [2, 2, 1]), [8], draws=10).prompts == 2
    assert change_parts(short, [4], rng)[0].change.value == pytest.approx(found.difference[3])
    assert found.effective[0] <= 60


def test_the_band_covers_all_k_at_once_and_the_set_the_first_loss():
    rng, trials, inside, first = np.random.default_rng(1), 120, 0, 0
    k = np.arange(1, 9)
    for _ in range(trials):
        before = base_rates(rng, 150)
        # Prompts are drawn anew each time, so that the truth is that of the population, found once below.
        found = pass_curves(sampled(rng, before, 0.8 * before + 0.1 * (before > 0.3), 8).pairs, draws=200)
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


def test_prompts_that_all_agree_leave_open_what_the_binomial_bound_does():
    found = pass_curves(Pairs.of(np.ones(30, int), 1, 1, 1), draws=20_000)
    # P(none of 30 prompts shows a share x) = 0.05, and no truth is missed on both sides.
    assert found.high[0] == pytest.approx(1 - 0.05 ** (1 / 30), rel=0.05)
    assert found.low[0] == pytest.approx(-found.high[0])
    assert found.effective == (0,)


@pytest.mark.parametrize("ks", [[2, 1], [], [31]])
def test_k_must_increase_up_to_the_fewest_answers(ks):
    with pytest.raises(ValueError, match="increasing whole numbers"):
        pass_curves(drawn(0).pairs, ks)


def test_one_prompt_has_no_interval():
    with pytest.raises(ValueError, match="prompts=1 is not allowed: at least two"):
        pass_curves(Pairs.of([4], [2], 4, [3]))


def test_parts_add_up_and_tell_loss_from_narrowing():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.3, 0.7, 400)
    lost = change_parts(
        sampled(rng, before, np.where(np.arange(400) < 80, 0, before), 16).pairs, (1, 4), rng
    )[1]
    rarer = change_parts(sampled(rng, before, before / 2, 16, 12).pairs, (1, 4), rng)[1]
    for found in (lost, rarer):
        assert found.change.value == pytest.approx(found.solved_set.value + found.narrowing.value)
    assert lost.narrowing.low <= 0 <= lost.narrowing.high
    assert lost.solved_set.high < 0
    assert rarer.narrowing.high < 0
    assert abs(rarer.solved_set.value) < abs(rarer.narrowing.value) / 4


def test_parts_of_an_unchanged_run_cover_zero_also_at_unequal_numbers_of_answers():
    rng, trials, inside = np.random.default_rng(1), 200, []
    for _ in range(trials):
        before = base_rates(rng, 100)
        found = change_parts(sampled(rng, before, before, 12, 8).pairs, (2,), rng)[0]
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
        return change_parts(sampled(rng, before, 0.7 * before + 0.1, n).pairs, (1, 4), rng)

    truth, found = drawn(400_000), [drawn(150) for _ in range(trials)]
    for place in range(2):
        for name in ("change", "solved_set", "narrowing"):
            wanted = getattr(truth[place], name).value
            seen = [getattr(one[place], name) for one in found]
            assert covers(np.mean([e.low <= wanted <= e.high for e in seen]), 0.95, trials, slack=0.01), name


def power_drawn(rng, prompts, n):
    """Shifts of the log odds that vary over prompts, and rates that crowd at zero."""
    before = rng.beta(0.7, 2, prompts)
    return sampled(rng, before, expit(logit(before) + 0.25 + 0.5 * rng.standard_normal(prompts)), n).pairs


@pytest.mark.parametrize("k", [1, 4, 12])
def test_as_many_prompts_as_told_find_the_difference_as_often_as_told(k):
    rng = np.random.default_rng(k)
    pilot = power_drawn(rng, 20_000, rng.integers(12, 21, 20_000))
    truth = float(gaps(pilot, [k]).mean())
    told = {line.n: line for line in needed(pilot, truth, k)}
    assert sorted(told) == sorted({max(k, n) for n in (4, 8, 16, 32, 64)})
    for n in (min(told), 64):
        found = gaps(power_drawn(rng, int(told[n].prompts.value) * 150, n), [k]).reshape(150, -1)
        low = [bounded_mean(gap, rng, draws=500).low for gap in found]
        assert covers(np.mean(np.array(low) > 0), CHANCE, 150, slack=0.03), n
    assert told[64].detectable < told[min(told)].detectable


def test_a_greater_k_needs_as_many_answers_and_half_the_difference_four_times_the_prompts():
    pairs = power_drawn(np.random.default_rng(1), 50, 8)
    assert needed(pairs, 0.1, 6)[0].n == 6
    whole, half = (needed(pairs, difference, 1)[0].prompts.value for difference in (0.004, 0.002))
    assert whole == pytest.approx(half / 4, rel=0.02)
    # For few prompts the one that was not seen counts too.
    few, many = (needed(pairs, difference, 1)[0].prompts.value for difference in (0.2, 0.002))
    assert few > many / 100**2 * 1.2


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 8])
def test_the_prompts_needed_have_an_interval_of_the_pilots_own_uncertainty(k):
    rng, trials = np.random.default_rng(k), 120

    def told(prompts):
        return next(x for x in needed(power_drawn(rng, prompts, 8), 0.1, k) if x.n == 8).prompts

    truth, found = told(40_000).value, [told(200) for _ in range(trials)]
    inside = np.mean([one.low <= truth <= one.high for one in found])
    assert covers(inside, 0.95, trials, slack=0.01)
    assert np.mean([one.high / one.low for one in found]) < 2.5


def test_the_spread_over_a_single_prompt_is_not_known():
    with pytest.raises(ValueError, match=r"prompts=1 .*at least two"):
        needed(Pairs.of([4], [2], [4], [3]), 0.1, 2)


@pytest.mark.parametrize(
    ("difference", "k", "words"), [(0, 1, "from 1e-06 to 1"), (0.1, 5, "at most 4: the fewest")]
)
def test_wrong_questions_are_refused(difference, k, words):
    with pytest.raises(ValueError, match=words):
        needed(Pairs.of(4, [1, 2], 4, [2, 2]), difference, k)
