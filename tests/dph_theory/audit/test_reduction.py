import pytest

from dph_theory.audit import audit
from dph_theory.audit.problems import ending_problems
from dph_theory.audit.reduction import reduction_of

PROBLEM = ending_problems(0)[-1]
NAMES = ("log_pi", "log_ref", "mask")


def k3(log_pi, log_ref):
    x = log_ref - log_pi
    return x.exp() - 1 - x


def token_mean(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).sum() / mask.sum()


def sequence_mean(log_pi, log_ref, mask):
    return ((k3(log_pi, log_ref) * mask).sum(dim=-1) / mask.sum(dim=-1)).mean()


def padded_mean(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).mean()


def sequence_sum(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).sum(dim=-1).mean()


def total(log_pi, log_ref, mask):
    return (k3(log_pi, log_ref) * mask).sum()


def careless(log_pi, log_ref, mask):
    return k3(log_pi, log_ref).mean()


def whole_answer(log_pi, log_ref, mask):
    cost = ((log_pi - log_ref).detach() * mask).sum(dim=-1)
    return ((log_pi * mask).sum(dim=-1) * cost).mean()


@pytest.mark.parametrize(
    ("loss", "batch", "tokens", "padding"),
    [
        (token_mean, "token mean", "mean", "ignored"),
        (sequence_mean, "mean", "mean", "ignored"),
        (padded_mean, "mean", "mean", "divides by the padded length"),
        (sequence_sum, "mean", "sum", "ignored"),
        (total, "sum", "sum", "ignored"),
        (careless, "mean", "mean", "ignores its mask"),
        (whole_answer, "mean", "other", "ignored"),
    ],
)
def test_the_divisions_are_told_apart(loss, batch, tokens, padding):
    found = reduction_of(loss, NAMES, PROBLEM, "policy")
    assert (found.batch, found.tokens, found.padding) == (batch, tokens, padding)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (token_mean, None),
        (
            sequence_mean,
            "where lengths differ (mean over each sequence's tokens, then over sequences) it "
            "descends none of the known quantities",
        ),
        (
            padded_mean,
            "where lengths differ (sum over tokens, divided by the padded length) it descends "
            "token sum of FORWARD KL(ref||pi)",
        ),
        (careless, "it IGNORES ITS MASK"),
    ],
)
def test_the_verdict_names_what_unequal_lengths_change(loss, words):
    report = audit(loss)
    if words is None:
        assert "where lengths differ" not in report.verdict
        assert report.unequal_gradient.exact
        assert report.unequal_gradient.per_token
    else:
        assert words in report.verdict


def test_a_loss_that_fails_on_several_sequences_says_so():
    def misaligned(log_pi, log_ref, advantages, mask):
        # The advantages of the tokens meet the sums over the sequences: alone a sequence goes through.
        return -(advantages * (log_pi * mask).sum(dim=-1)).mean()

    report = audit(misaligned)
    assert "it FAILS on batches of several sequences (it raised RuntimeError: The size" in report.verdict
    assert report.verdict.endswith("all this is about batches of one")
    assert [failure.problem for failure in report.failures] == ["batches of several sequences"]
    assert "FAILS" not in audit(token_mean).verdict
