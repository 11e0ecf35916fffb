import doctest
import importlib

import numpy as np
import pytest

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL
from dph_theory.dynamics import flow
from dph_theory.laws import answer_mean_limit, effective_beta, law_validity, token_law, valid_answer_shares

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


def test_answers_of_one_length_have_the_law_of_sums():
    tables = [np.array([0.6, 0.4]), np.array([[0.4, 0.6], [0.7, 0.3]])]
    means, sums = (token_law(tables, SOME[:2, :2], 0.3, per_answer_mean=mean) for mean in (True, False))
    for mine, theirs in zip(means, sums, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_a_verifier_that_errs_changes_rate_and_not_fate():
    assert effective_beta(0.5, 0.05, 0.2) == pytest.approx(2 / 3)
    noisy = flow([[0.25, 0.75]], [1, 0], [900.0], beta=float(effective_beta(0.5, 0.05, 0.2)))[0][0]
    assert noisy[0] == pytest.approx(0.599021, abs=1e-6)
    with pytest.raises(ValueError, match=r"false_negative=0\.5 .*goes the other way"):
        effective_beta(0.5, 0.6, 0.5)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"form": "k9"}, "form='k9'"),
        ({"form": "kl_dpg", "per_answer_mean": True}, "per_answer_mean=True .*stored ones"),
        ({"times": [2.0, 1.0]}, "times=.*that rise"),
        ({"beta": -0.1}, "beta=-0.1"),
        ({"beta": lambda t: -1.0}, "beta=-1.0"),
        ({"base": [np.full((2, 2), 0.5)], "valid": [1, 0]}, "tables without batch axes"),
    ],
)
def test_what_is_not_allowed_is_named(changes, named):
    with pytest.raises(ValueError, match=named):
        flow(**{"base": [[0.5, 0.5]], "valid": [1, 0], "times": [1.0], **changes})


def test_other_divergences_and_lengths_are_refused():
    with pytest.raises(ValueError, match=r"divergence='jensen_shannon'"):
        token_law(TREE, VERDICTS, 0.5, JENSEN_SHANNON, per_answer_mean=True)
    with pytest.raises(ValueError, match=r"none without per_answer_mean"):
        token_law(TREE, VERDICTS, 0.5, lengths=LENGTHS)
    with pytest.raises(ValueError, match=r"lengths\.shape"):
        token_law(TREE, VERDICTS, 0.5, per_answer_mean=True, lengths=[1, 2, 1])


def test_the_examples_in_the_docstrings_are_true():
    for name in ("dynamics.flow", "dynamics.drift", "laws.sequence"):
        ran = doctest.testmod(importlib.import_module(f"dph_theory.{name}"))
        assert ran.failed == 0
        assert ran.attempted
