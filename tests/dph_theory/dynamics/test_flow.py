from functools import partial

import numpy as np
import pytest

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.dynamics import CORRECTIONS, Rollouts, flow, largest_stable_step
from dph_theory.laws import (
    answer_mean_limit,
    answer_probabilities,
    effective_beta,
    law_validity,
    masked_law,
    sequence_law,
    tempered,
    token_law,
    truncated,
    valid_answer_shares,
)

POOR, RIGHT = np.array([0.06, 0.03, 0.01, 0.9]), [1, 1, 1, 0]
PAD = [1.0, 0.0, 0.0]
TREE = [np.array([0.3, 0.4, 0.3]), np.array([PAD, [0.5, 0.5, 0.0], PAD])]
"""The first token ends valid, goes on, or ends invalid; after going on, valid or invalid."""
VERDICTS = np.array([[True, False, False], [True, False, False], [False] * 3])
LENGTHS = np.array([[1] * 3, [2] * 3, [1] * 3])
END = 2
ENDED = [np.array([0.4, 0.3, 0.3]), np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3], [0.0, 0.0, 1.0]])]
SOME = np.array([[True, False, True], [False, True, True], [False, False, False]])


def kept(beta):
    """Peak and end of the within-valid KL to p_*, and the pass rate at the end, after time 400."""
    course = [tables[0] for tables in flow([POOR], RIGHT, np.linspace(0, 400, 201), beta=beta)]
    target = POOR[:3] / POOR[:3].sum()
    shares = [policy[:3] / policy[:3].sum() for policy in course]
    lost = [float((share * np.log(share / target)).sum()) for share in shares]
    return max(lost), lost[-1], course[-1][:3].sum()


@pytest.mark.parametrize(
    ("beta", "found"),
    [
        (0.05, (0.2305, 0.0450, 0.9963)),
        (lambda t: 1 / (1 + 19 * t / 400), (0.0106, 0.0048, 0.9947)),
        (lambda t: 0.05 ** (t / 400), (0.0059, 0.0059, 0.9906)),
        (lambda t: 1 / np.sqrt(1 + 399 * t / 400), (0.0536, 0.0129, 0.9957)),
    ],
)
def test_annealing_loses_less_on_the_way(beta, found):
    assert kept(beta) == pytest.approx(found, abs=6e-5)


@pytest.mark.parametrize(("form", "divergence"), [("k2", REVERSE_KL), ("k3", FORWARD_KL)])
@pytest.mark.parametrize("per_answer_mean", [False, True])
def test_a_token_penalty_ends_at_its_law(form, divergence, per_answer_mean):
    law = token_law(ENDED, SOME, 0.5, divergence, end=END, per_answer_mean=per_answer_mean)
    (ended,) = flow(ENDED, SOME, [3000.0], form=form, beta=0.5, end=END, per_answer_mean=per_answer_mean)
    for mine, theirs in zip(ended, law, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-6)


def test_values_of_the_laws_of_per_answer_means():
    def found(beta, divergence, mean):
        lengths = LENGTHS if mean else None
        law = token_law(TREE, VERDICTS, beta, divergence, per_answer_mean=mean, lengths=lengths)
        return float(law_validity(law, VERDICTS)), float(valid_answer_shares(law, VERDICTS)[0, 0])

    assert found(0.5, REVERSE_KL, False) == pytest.approx((0.880797, 0.519403), abs=1e-6)
    assert found(0.5, REVERSE_KL, True) == pytest.approx((0.880797, 0.488738), abs=1e-6)
    assert found(0.2, REVERSE_KL, True) == pytest.approx((0.993307, 0.386702), abs=1e-6)
    assert found(0.5, FORWARD_KL, True)[1] == pytest.approx(0.6)
    limit = answer_mean_limit(TREE, VERDICTS, lengths=LENGTHS)
    assert valid_answer_shares(limit, VERDICTS)[0, 0] == pytest.approx(0.375)
    assert found(0.01, REVERSE_KL, True)[1] == pytest.approx(0.375, abs=1e-3)


def test_a_batch_of_betas_is_a_law_each():
    both = token_law(TREE, VERDICTS, [0.5, 0.2], per_answer_mean=True, lengths=LENGTHS)
    each = [token_law(TREE, VERDICTS, b, per_answer_mean=True, lengths=LENGTHS) for b in (0.5, 0.2)]
    for together, *alone in zip(both, *each, strict=True):
        np.testing.assert_allclose(together, np.stack(alone), atol=1e-12)


def test_a_verifier_that_errs_changes_rate_and_not_fate():
    assert effective_beta(0.5, 0.05, 0.2) == pytest.approx(2 / 3)
    noisy = flow([[0.25, 0.75]], [1, 0], [900.0], beta=float(effective_beta(0.5, 0.05, 0.2)))[0][0]
    assert noisy[0] == pytest.approx(0.599021, abs=1e-6)


SIX, THREE_RIGHT = [np.array([0.22, 0.12, 0.06, 0.3, 0.2, 0.1])], [1, 1, 1, 0, 0, 0]
OTHER = {T: partial(tempered, temperature=T) for T in (0.6, 1.5)}


def rates(policy):
    return policy[0][:3].sum(), policy[0][:3] / policy[0][:3].sum()


@pytest.mark.parametrize("sampler", [OTHER[0.6], None])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_kl_in_the_reward_does_not_see_the_sampler(sampler, correction):
    (policy,) = flow(SIX, THREE_RIGHT, [3e4], beta=0.3, rollouts=Rollouts(sampler, correction, 2.0))
    np.testing.assert_allclose(policy[0], sequence_law(SIX, THREE_RIGHT, 0.3)[0], atol=5e-6)


@pytest.mark.parametrize(
    ("form", "temperature", "validity", "shares"),
    [
        ("k2", 0.6, 0.84554, (0.4903, 0.3134, 0.1963)),
        ("k2", 1.5, 0.96417, (0.5917, 0.2822, 0.126)),
        ("k3", 0.6, 0.82083, (0.4914, 0.3109, 0.1977)),
        ("k3", 1.5, 0.83687, (0.5122, 0.3120, 0.1758)),
    ],
)
def test_a_penalty_in_the_loss_sees_the_sampler(form, temperature, validity, shares):
    (policy,) = flow(SIX, THREE_RIGHT, [3e4], form=form, beta=0.3, rollouts=Rollouts(OTHER[temperature]))
    assert rates(policy)[0] == pytest.approx(validity, abs=6e-6)
    np.testing.assert_allclose(rates(policy)[1], shares, atol=6e-5)


def test_which_corrections_restore_the_law_of_a_penalty_in_the_loss():
    (law,) = sequence_law(SIX, THREE_RIGHT, 0.3)

    def away(**settings):
        (policy,) = flow(
            SIX, THREE_RIGHT, [3e4], form="k2", beta=0.3, rollouts=Rollouts(OTHER[0.6], **settings)
        )
        return np.abs(policy[0] - law).max()

    assert away(correction="sequence") < 1e-6
    assert away(correction="token") < 1e-6
    # On the verdict alone, as TRL corrects vLLM, it does not; nor where a cap cuts it off.
    assert away(correction="sequence", corrects_penalty=False) > 0.05
    assert away(correction="sequence", cap=1.0) > 0.01


def test_a_correction_of_each_token_leaves_the_sampler_its_continuations():
    """The law is then that of the token penalty at the sampler's own chances to end valid."""
    base, valid = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.3, 0.7]])], np.array([[1, 0], [1, 0]])
    (law,) = flow(base, valid, [1e4], form="k2", beta=0.5, rollouts=Rollouts(OTHER[0.6], "token"))
    chances = tempered(law, 0.6)[1][:, 0]
    weight = base[0] * np.exp(chances / 0.5)
    np.testing.assert_allclose(law[0], weight / weight.sum(), atol=1e-6)
    (whole,) = flow(base, valid, [1e4], form="k2", beta=0.5, rollouts=Rollouts(OTHER[0.6], "sequence"))
    np.testing.assert_allclose(whole[0], token_law(base, valid, 0.5)[0], atol=1e-6)
    assert np.abs(law[0] - whole[0]).max() > 0.005


@pytest.mark.parametrize(
    ("form", "top_p", "validity"),
    [
        ("none", 0.9, 0.92278),
        ("none", 0.7, 0.760),
        ("sequence_kl", 0.95, 0.92676),
        ("sequence_kl", 0.7, 0.75038),
    ],
)
def test_top_p_ends_the_training_at_a_pass_rate_of_about_p(form, top_p, validity):
    settings = {
        "form": form,
        "beta": 0.3,
        "step": 0.15,
        "rollouts": Rollouts(partial(truncated, top_p=top_p)),
    }
    (policy,) = flow(SIX, THREE_RIGHT, [200.0], **settings)
    # Where it stops depends a little on the size of the steps.
    assert rates(policy)[0] == pytest.approx(validity, abs=4e-3)
    if form == "none":
        assert truncated(policy, top_p=top_p)[0][:3].sum() == pytest.approx(1)


@pytest.mark.parametrize("stale", [0, 4])
def test_staleness_changes_no_law_only_the_largest_step(stale):
    base, right, beta = [np.array([0.15, 0.1, 0.05, 0.4, 0.3])], [1, 1, 1, 0, 0], 0.4
    (law,) = sequence_law(base, right, beta)
    near = law * np.exp([1e-3, -1e-3, 5e-4, 3e-4, 0])
    step = float(largest_stable_step(base[0], right, beta, stale))

    def away(factor):
        settings = {"step": factor * step, "rollouts": Rollouts(stale=stale), "start": [near / near.sum()]}
        (policy,) = flow(base, right, [1000 * step], beta=beta, **settings)
        return np.abs(policy[0] - law).max()

    assert away(0.98) < 5e-5
    assert away(1.02) > 1e-3


def test_masked_answers_end_at_their_law():
    base, right, finished = [0.1, 0.05, 0.3, 0.25, 0.3], [1, 1, 0, 0, 0], np.array([1, 1, 1, 1, 0])
    (policy,) = flow([base], right, [1e4], form="k2", beta=0.25, rollouts=Rollouts(weights=finished))
    np.testing.assert_allclose(policy[0], masked_law(base, right, finished, 0.25, in_loss=True), atol=1e-6)

    def of_the_finished(tables):
        return [tables[0] * finished / (tables[0] * finished).sum()]

    (policy,) = flow([base], right, [1e4], beta=0.25, rollouts=Rollouts(of_the_finished))
    np.testing.assert_allclose(policy[0], masked_law(base, right, finished, 0.25), atol=1e-6)


def test_a_temperature_everywhere_is_a_flow_of_the_policy_at_it():
    base, valid = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])], np.array([[1, 0], [1, 0]])
    (hot,) = flow(tempered(base, 0.6), valid, [4000.0], beta=0.3)
    assert tempered(hot, 1 / 0.6)[0][0] == pytest.approx(0.842269, abs=1e-6)
    assert answer_probabilities(hot).sum() == pytest.approx(1)
