import json
from functools import cache

import pytest
from support import unseen_losses as unseen
from support.losses_with_known_answers import k1, k2, k3, minus_log_u, policy_gradient, rehearsed_k3

from dph_theory.audit import Match, audit

audited = cache(audit)
NONE = "none of the known quantities"


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
    assert "It failed on 4 of the problems (it raised RuntimeError: one token only)." in report.verdict


def reward_and_k3(log_pi, log_ref, advantages):
    x = log_ref - log_pi
    return (0.04 * (x.exp() - 1 - x) - log_pi * advantages).sum(dim=-1).mean()


def jeffreys(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x + x**2 / 2).mean()


def entropy_bonus(log_pi, advantages):
    surprise = -log_pi.sum(dim=-1).detach()
    return -(log_pi.sum(dim=-1) * (advantages[:, 0] + 0.01 * surprise)).mean()


def flipped(log_pi, advantages):
    return (log_pi * advantages).mean()


ANSWERS, SUM = "only right answers remain", "the reward's policy gradient plus"
NONE_NEAR = "none of the known quantities; nearest is the"


@pytest.mark.parametrize(
    ("loss", "samples", "words"),
    [
        (k1, "policy", ["k1 on policy samples: Its gradient is ZERO in expectation"]),
        (k2, "policy", ["It descends the reverse KL(pi||ref) of each token"]),
        (k2, "policy", [f"{ANSWERS}, those of constrained decoding (locally filtered model"]),
        (k3, "policy", ["It descends the forward KL(ref||pi) of each token"]),
        (k3, "policy", ["Its value, the number logged, estimates the reverse KL(pi||ref)."]),
        (k3, "policy", [f"{ANSWERS}, not in the base's proportions (token forward limit"]),
        (minus_log_u, "reference", ["It descends the forward KL(ref||pi)"]),
        (minus_log_u, "filtered", ["at the base's right answers, in the base's proportions (filtered model"]),
        (rehearsed_k3, "filtered", ["as often as the base gives one (base's own rate"]),
        (policy_gradient, "policy", ["This is the reward's policy gradient. No KL: nothing holds"]),
        (flipped, "policy", ["It LOWERS the expected reward: a sign error."]),
        (reward_and_k3, "policy", [f"{SUM} 0.04 times the forward KL(ref||pi) of each token."]),
        (reward_and_k3, "policy", ["(token forward limit)"]),
        (jeffreys, "policy", ["the forward KL(ref||pi) of each token plus the reverse KL(pi||ref) of each"]),
        (entropy_bonus, "policy", [f"This is {SUM} an entropy bonus of 0.01."]),
        (unseen.held_log_ratio, "policy", ["It descends the reverse KL(pi||ref) of each token"]),
        (
            unseen.mixture,
            "policy",
            ["0.3 times the forward KL(ref||pi)", "0.7 times the reverse KL(pi||ref)"],
        ),
        (unseen.spread, "policy", ["at B = 2, 0.5 times the reverse KL(pi||ref)"]),
        (unseen.single_k3, "policy", ["It descends the forward KL(ref||pi) of each token"]),
        (unseen.unmasked, "policy", ["unmasked on policy samples: It IGNORES ITS MASK"]),
        # An alpha that nobody declared is near one that is.
        (unseen.odd_alpha, "policy", [f"{NONE_NEAR} alpha-divergence 0.5"]),
        (unseen.triangular, "policy", [f"{NONE_NEAR} JS generator"]),
        (unseen.held_ratio_k1, "old_policy", ["ZERO in expectation"]),
        (unseen.u_log_u, "reference", ["It descends the reverse KL(pi||ref)"]),
        (unseen.with_entropy, "policy", [f"{SUM} an entropy bonus of 0.05"]),
        (unseen.hinge, "policy", ["It descends the total variation of each token"]),
        (unseen.preference, "policy", ["It couples the answers", "at B = 2, none of the known quantities"]),
        (unseen.log_mean, "reference", ["at B = 1, minus the forward KL(ref||pi); at B = 2, none of the"]),
        (
            unseen.discounted,
            "policy",
            ["On single tokens, not on longer answers, it descends the reverse KL"],
        ),
        (unseen.half_k2, "policy", ["It computes in 16 bits, too coarse to recognise anything"]),
    ],
)
def test_the_verdict_says_it(loss, samples, words):
    verdict = audited(loss, samples=samples).verdict
    assert [part for part in words if part not in verdict] == []


def test_a_verdict_has_three_sentences_at_most_and_its_rows_say_something():
    for loss in (k1, k3, unseen.hinge, unseen.half_k2, reward_and_k3):
        found = audited(loss, samples="policy")
        assert found.verdict.count(". ") < 3
        assert all(words not in ("", "-", "none") for _, words in found.rows())
    assert dict(audited(unseen.hinge, samples="policy").rows())["no KL gradient at"] == (
        "log(pi/ref) in [0, 700]"
    )


def k2_by_length(log_pi, log_ref, mask):
    return (0.5 * (log_pi - log_ref) ** 2 * mask).sum(dim=-1).div(mask.sum(dim=-1)).mean()


def test_what_is_known_for_equal_lengths_alone_is_said_so():
    # Divided by its length, the pull on a token depends on how long its answers are.
    report = audit(k2_by_length)
    assert report.verdict.endswith("(locally filtered model, where all lengths are equal).")


@pytest.mark.parametrize(
    ("match", "words"),
    [
        (Match("zero", exact=True), "zero"),
        (Match("failed", exact=False), "-"),
        (Match("reverse KL", exact=True, constant=1.0), "the reverse KL"),
        (Match("KL", True, 2.0, per_token=1), "2 times the KL, divided by the number of tokens"),
        (Match("KL", False, bias=(-0.1, 0.5)), f"{NONE}; nearest is the KL (-10% to +50%)"),
        (Match("KL", False, angle=12.3), f"{NONE}; nearest is the KL (up to 12 degrees off)"),
        (Match("none", exact=False), f"{NONE}; nothing is near"),
    ],
)
def test_matches_in_words(match, words):
    assert match.words == words


def test_a_report_is_shown_in_a_few_lines_and_as_a_table():
    found = audited(k3, samples="policy")
    shown = repr(found).splitlines()
    assert shown[0].startswith("AuditReport: k3 on policy samples: It descends the forward KL(ref||pi)")
    assert len(shown) < 30
    assert "np.float64" not in repr(found)
    assert "<td>value estimates</td><td>the reverse KL(pi||ref)</td>" in found._repr_html_()
    assert found.to_dict()["gradient"]["name"] == "forward KL(ref||pi)"
