import pytest
from support import unseen_losses as unseen
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


SUM = "token sum of {} on the samples' prefixes"


@pytest.mark.parametrize(
    ("loss", "samples", "words"),
    [
        (
            unseen.held_log_ratio,
            "policy",
            ["descends REVERSE KL(pi||ref), exactly;", SUM.format("REVERSE KL(pi||ref)")],
        ),
        (unseen.mixture, "policy", ["0.3 FORWARD KL(ref||pi) + 0.7 REVERSE KL(pi||ref), exactly"]),
        (unseen.spread, "policy", ["REVERSE KL(pi||ref), exactly, scaled by 1 - 1/B in a batch of B"]),
        (unseen.single_k3, "policy", ["descends FORWARD KL(ref||pi), exactly", "it computes in float32"]),
        (unseen.unmasked, "policy", ["descends none of the known", "it IGNORES ITS MASK"]),
        (
            unseen.odd_alpha,
            "policy",
            ["descends alpha-divergence 0.37, exactly", "selects the filtered model"],
        ),
        (
            unseen.triangular,
            "policy",
            ["descends none of the known quantities, nearest alpha-divergence 0.2"],
        ),
        (unseen.held_ratio_k1, "old_policy", ["value estimates reverse KL(pi||ref)", "ZERO in expectation"]),
        (
            unseen.u_log_u,
            "reference",
            ["value estimates reverse KL", "descends REVERSE KL(pi||ref), exactly"],
        ),
        (unseen.with_entropy, "policy", ["minus expected reward - 0.05 entropy(pi), exactly"]),
        (unseen.hinge, "policy", ["total variation, exactly", "no gradient at log ratios in [0.5, 700]"]),
        (unseen.preference, "policy", ["couples the sequences of a batch, in no way recognised: at B = 2"]),
        (
            unseen.log_mean,
            "reference",
            ["at B = 1 it ASCENDS FORWARD KL(ref||pi)", "at B = 2 it descends none"],
        ),
        (
            unseen.discounted,
            "policy",
            ["descends REVERSE KL(pi||ref), exactly; on sequences it descends none"],
        ),
        (unseen.half_k2, "policy", ["descends none of the known", "16 bits, too coarse to recognise"]),
    ],
)
def test_losses_it_was_not_made_for(loss, samples, words):
    verdict = audit(loss, samples=samples).verdict
    assert [part for part in words if part not in verdict] == []


def test_a_loss_that_ignores_its_mask_is_told_so_before_anything_else():
    verdict = audit(unseen.unmasked, name="unmasked").verdict
    assert verdict.startswith("unmasked on policy samples: it IGNORES ITS MASK: ")


def k2_by_length(log_pi, log_ref, mask):
    return (0.5 * (log_pi - log_ref) ** 2 * mask).sum(dim=-1).div(mask.sum(dim=-1)).mean()


def test_what_is_known_for_equal_lengths_alone_is_said_so():
    # Divided by its length, the pull on a token depends on how long its answers are.
    report = audit(k2_by_length)
    assert report.verdict.endswith("it selects the locally filtered model where all lengths are equal")
