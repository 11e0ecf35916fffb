import json
from functools import cache

import pytest
from support import unseen_losses as unseen
from support.losses_with_known_answers import k1, k2, k3, minus_log_u, policy_gradient, rehearsed_k3

from dph_theory.audit import audit
from dph_theory.audit.report import SAMPLES, Match, both_words, match_words

audited = cache(audit)


@pytest.mark.parametrize(
    ("loss", "samples", "words"),
    [
        (k1, "policy", "value estimates reverse KL(pi||ref); its gradient is ZERO in expectation"),
        (k2, "policy", "value is biased, nearest reverse KL(pi||ref)"),
        (k2, "policy", "its gradient descends REVERSE KL(pi||ref), exactly"),
        (
            k3,
            "policy",
            "k3 on policy samples: value estimates reverse KL(pi||ref); "
            "its gradient descends FORWARD KL(ref||pi), exactly",
        ),
        (k3, "policy", "on sequences it descends token sum of FORWARD KL(ref||pi)"),
        (
            minus_log_u,
            "reference",
            "value estimates forward KL(ref||pi); its gradient descends FORWARD KL(ref||pi)",
        ),
        (minus_log_u, "filtered", "its minimiser is the filtered model p_*"),
        (rehearsed_k3, "filtered", "its minimiser keeps the base's own pass rate"),
        (policy_gradient, "policy", "its gradient raises the expected reward, exactly"),
    ],
)
def test_the_verdict_says_it(loss, samples, words):
    assert words in audited(loss, samples=samples).verdict


@pytest.mark.parametrize("seed", [1, 2])
def test_the_verdict_does_not_depend_on_the_seed(seed):
    found, again = audited(k3, samples="policy").gradient, audit(k3, seed=seed).gradient
    assert (again.name, again.exact) == (found.name, found.exact)
    assert again.constant == pytest.approx(found.constant)


def test_the_same_seed_gives_the_same_report_as_plain_data():
    first, second = audit(k2, seed=5).to_dict(), audit(k2, seed=5).to_dict()
    assert json.dumps(first) == json.dumps(second)
    assert {"verdict", "value", "gradient", "minimiser", "variance", "extremes", "failures"} <= set(first)


def test_a_failure_on_some_problems_leaves_the_others():
    def only_outcomes(log_pi, log_ref):
        if log_pi.shape[1] > 1:
            raise RuntimeError("one token only")
        return k3(log_pi, log_ref)

    report = audit(only_outcomes)
    assert report.gradient.name == "forward KL(ref||pi)"
    assert len(report.failures) == 4
    assert "failed on 4 of the problems (it raised RuntimeError: one token only)" in report.verdict


def test_a_loss_that_always_fails_says_why():
    report = audit(lambda log_pi: log_pi, name="raw")
    assert report.verdict.startswith(
        "raw on policy samples: could not be audited: it returned a tensor of shape (1, 1)"
    )
    assert report.variance is None
    assert report.extremes == ()


def test_unknown_samples_are_named():
    with pytest.raises(ValueError, match=r"samples='teacher' .*policy, old_policy, reference, filtered"):
        audit(k1, samples="teacher")
    assert len(SAMPLES) == 4


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
        (reward_and_k3, "(the token forward limit)"),
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
        (unseen.odd_alpha, "policy", ["descends alpha-divergence 0.37, exactly", "(the filtered model)"]),
        (unseen.triangular, "policy", ["descends none of the known quantities, nearest JS generator"]),
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
            ["at B = 1 it raises FORWARD KL(ref||pi), exactly: sign error", "at B = 2 it descends none"],
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
    assert report.verdict.endswith("(the locally filtered model, where all lengths are equal)")


@pytest.mark.parametrize(
    ("match", "words"),
    [
        (Match("zero", exact=True), "zero"),
        (Match("failed", exact=False), "-"),
        (Match("reverse KL", exact=True, constant=1.0), "reverse KL"),
        (Match("reverse KL", exact=True, constant=2.0, per_token=True), "2 times reverse KL, per token"),
        (Match("reverse KL", exact=False, bias=(-0.1, 0.5)), "biased; nearest reverse KL (-10% to +50%)"),
        (Match("entropy", exact=False, angle=12.3), "none; nearest entropy at up to 12 degrees"),
        (Match("none", exact=False), "none"),
    ],
)
def test_matches_in_words(match, words):
    assert match_words(match) == words


def test_sequences_are_told_where_they_differ_from_outcomes():
    one, sum_ = Match("KL", exact=True, constant=1.0), Match("token sum of KL", exact=True, constant=1.0)
    assert both_words(one, one) == "KL"
    assert both_words(one, sum_) == "KL; on sequences: token sum of KL"
    # On sequences of one token only: the same quantity, but no longer exactly.
    near = Match("KL", exact=False, angle=3.0)
    assert both_words(one, near) == "KL; on sequences: none; nearest KL at up to 3 degrees"


def test_a_sign_error_is_called_so():
    def flipped(log_pi, advantages):
        return (log_pi * advantages).mean()

    found = audited(flipped, name="flipped")
    assert "its gradient lowers the expected reward, exactly: sign error" in found.verdict
    assert "sign error" not in audited(policy_gradient).verdict


def test_a_report_is_shown_in_a_few_lines_and_as_a_table():
    found = audited(k3, samples="policy")
    shown = repr(found).splitlines()
    assert shown[0].startswith("AuditReport: k3 on policy samples: value estimates reverse KL(pi||ref)")
    assert len(shown) < 30
    assert "np.float64" not in repr(found)
    assert "<td>dead zones</td><td>none</td>" in found._repr_html_()
    assert found.to_dict()["gradient"]["name"] == "forward KL(ref||pi)"
