import numpy as np
import pytest
from scipy.special import expit, logit
from support.sampled_counts import base_rates, sampled

from dph_theory import exact_pass_at_k
from dph_theory.checkpoints import PairedCounts
from dph_theory.checkpoints.pass_at_k import change_parts, first_worse, gaps, pass_curves


def test_curves_are_those_of_the_published_package_and_its_band_is_that_of_many_prompts():
    reference = pytest.importorskip("passk_inference")
    rng = np.random.default_rng(0)
    before, base_n, run_n = base_rates(rng, 3000), rng.integers(20, 30, 3000), rng.integers(22, 26, 3000)
    pairs = sampled(rng, before, np.clip(before * 1.5 - 0.1, 0, 1), base_n, run_n)
    columns = (pairs.base_c, pairs.base_n, pairs.run_c, pairs.run_n)
    expected = reference.compare(*columns, bootstrap=2000, alpha=0.1, seed=5)
    found = pass_curves(pairs, range(1, pairs.fewest_answers + 1), draws=2000, level=0.9, seed=5)
    names = {"base_pass_at_k": "base", "rl_pass_at_k": "run", "mean": "difference"}
    for theirs, ours in names.items():
        assert getattr(found, ours) == pytest.approx(expected[theirs], abs=1e-12), ours
    # A prompt that was not seen weighs 1/3000, a normal tail of it a few times that.
    assert found.low == pytest.approx(expected["lower"], abs=2e-3)
    assert found.high == pytest.approx(expected["upper"], abs=2e-3)


def mostly_solved(rng, prompts):
    """Nearly every prompt is solved a little better; of thirty one is no longer solved at all."""
    before = rng.beta(4, 4, prompts)
    return before, np.where(rng.random(prompts) < 1 / 30, 0.0, expit(logit(before) + 0.3))


def test_the_band_covers_all_k_at_once_also_what_thirty_prompts_often_do_not_show():
    rng, trials, k = np.random.default_rng(2), 100, np.arange(1, 65)
    before, after = mostly_solved(rng, 200_000)
    truth = np.array([(exact_pass_at_k(after, j) - exact_pass_at_k(before, j)).mean() for j in k.tolist()])
    found = [pass_curves(sampled(rng, *mostly_solved(rng, 30), 64), draws=200) for _ in range(trials)]
    inside = [((np.array(f.low) <= truth) & (truth <= f.high)).all() for f in found]
    # A third of the samples hold no lost prompt, and the spread among the others is next to none at k = 64.
    assert np.mean(inside) >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)
    # As few prompts as carry the spread tell where that is so.
    assert min(f.effective[-1] for f in found) < 2


def test_prompts_with_fewer_answers_than_the_largest_k_are_left_out():
    rng = np.random.default_rng(4)
    whole = sampled(rng, *mostly_solved(rng, 60), 8)
    short = PairedCounts.from_counts(
        *(np.append(a, b) for a, b in zip(vars(whole).values(), (8, 3, 1, 1), strict=True))
    )
    alone, found = pass_curves(whole, draws=50), pass_curves(short, draws=50)
    # One of 61 prompts lacks most k: it is left out of all of them.
    assert found == alone
    assert found.prompts == 60
    # Where more than one of twenty prompts lack it, k ends unless it is asked for.
    assert pass_curves(PairedCounts.from_counts(8, [3, 4, 5], [8, 8, 1], [2, 2, 1]), draws=10).k == (1,)
    assert (
        pass_curves(PairedCounts.from_counts(8, [3, 4, 5], [8, 8, 1], [2, 2, 1]), [8], draws=10).prompts == 2
    )
    assert change_parts(short, [4], rng)[0].change.value == pytest.approx(found.difference[3])


def test_the_set_of_first_losses_follows_the_band():
    k = np.arange(1, 5)
    assert first_worse(k, np.array([0.1, -0.1, -0.1, -0.2]), np.array([0.2, 0.1, 0.1, -0.1])) == (2, 4)
    assert first_worse(k, np.full(4, 0.1), np.ones(4)) == (5, None)
    assert first_worse(k[::2], np.ones(2), np.ones(2)) is None


def test_prompts_that_all_agree_leave_open_what_the_binomial_bound_does():
    found = pass_curves(PairedCounts.from_counts(np.ones(30, int), 1, 1, 1), draws=20_000)
    # P(none of 30 prompts shows a share x) = 0.05, and no truth is missed on both sides.
    assert found.high[0] == pytest.approx(1 - 0.05 ** (1 / 30), rel=0.05)
    assert found.low[0] == pytest.approx(-found.high[0])
    assert found.effective == (0,)


def test_parts_add_up_and_tell_loss_from_narrowing():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.3, 0.7, 400)
    runs = (np.where(np.arange(400) < 80, 0, before), 16), (before / 2, 12)
    pairs = [sampled(rng, before, after, 16, n) for after, n in runs]
    lost, rarer = (change_parts(each, (1, 4), rng)[1] for each in pairs)
    for found, each in zip((lost, rarer), pairs, strict=True):
        assert found.change.value == pytest.approx(found.solved_set.value + found.narrowing.value)
        assert found.change.value == pytest.approx(gaps(each, [4]).mean())
    assert lost.narrowing.low <= 0 <= lost.narrowing.high
    assert lost.solved_set.high < 0
    assert rarer.narrowing.high < 0
    assert abs(rarer.solved_set.value) < abs(rarer.narrowing.value) / 4


ONE, TWO = PairedCounts.from_counts([4], [2], 4, [3]), PairedCounts.from_counts(4, [1, 2], 4, [2, 2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pass_curves(TWO, [2, 1]), "increasing whole numbers"),
        (lambda: pass_curves(TWO, []), "increasing whole numbers"),
        (lambda: pass_curves(TWO, [5]), "increasing whole numbers, at most 4"),
        (lambda: pass_curves(ONE), "prompts=1 is not allowed: at least two"),
    ],
)
def test_wrong_questions_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
