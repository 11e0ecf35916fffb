import pytest
from support.losses_with_known_answers import k3, policy_gradient

from dph_theory.audit import audit


def reward_and_k3(log_pi, log_ref, advantages):
    x = log_ref - log_pi
    return (0.04 * (x.exp() - 1 - x) - log_pi * advantages).sum(dim=-1).mean()


def jeffreys(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x + x**2 / 2).mean()


def entropy_bonus(log_pi, advantages):
    surprise = -log_pi.sum(dim=-1).detach()
    return -(log_pi.sum(dim=-1) * (advantages[:, 0] + 0.01 * surprise)).mean()


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (reward_and_k3, "descends minus expected reward + 0.04 FORWARD KL(ref||pi), exactly"),
        (reward_and_k3, "selects the token forward limit"),
        (jeffreys, "descends FORWARD KL(ref||pi) + REVERSE KL(pi||ref), exactly"),
        (entropy_bonus, "descends minus expected reward - 0.01 entropy(pi), exactly"),
    ],
)
def test_sums_are_named_with_their_coefficients(loss, words):
    assert words in audit(loss).verdict


def test_float32_inside_does_not_hide_what_is_descended():
    def rounded(log_pi, log_ref):
        return k3(log_pi.float(), log_ref.float())

    report = audit(rounded)
    assert report.precision == "float32"
    assert (report.gradient.name, report.gradient.exact) == ("forward KL(ref||pi)", True)
    assert "it computes in float32: exact to its rounding" in report.verdict
    assert audit(policy_gradient).precision == "float64"


def test_a_changed_argument_is_called_so():
    def mutating(log_pi, log_ref):
        log_ref -= log_pi.detach()
        return (log_ref * log_pi).mean()

    assert "could not be audited: it changes its argument log_ref in place" in audit(mutating).verdict
