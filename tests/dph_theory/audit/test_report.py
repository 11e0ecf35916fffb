import json

import pytest
import torch

from dph_theory.audit import Match, audit
from dph_theory.audit.law import law_of
from dph_theory.audit.report import Minimiser
from dph_theory.methods.surrogates import policy_loss

NONE = "none of the known quantities"
TOKEN_SUM = "token sum of forward KL(ref||pi) on the samples' prefixes"


def k3(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x).mean()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("loss", "samples", "found"),
    [
        (k3, "policy", ("forward KL(ref||pi)", "float64")),
        (lambda log_pi, log_ref: k3(log_pi.float(), log_ref.float()), "policy", ("forward KL", "float32")),
        (lambda log_pi: torch.exp(log_pi - log_pi.detach()).mean(), "policy", ("zero", "float64")),
        (lambda log_pi, log_ref: k3(log_pi.bfloat16(), log_ref.bfloat16()), "policy", ("", "16 bits")),
        (policy_loss("clip", high=0.28), "old_policy", ("minus expected reward", "float64")),
    ],
    ids=["k3", "in 32 bits", "a ratio to itself", "in 16 bits", "clip"],
)
def test_the_verdict_does_not_depend_on_the_seed(loss, samples, found, seed):
    report = audit(loss, samples=samples, seed=seed)
    assert (report.gradient if samples == "policy" else report.known).name.startswith(found[0])
    assert report.precision == found[1]


def test_the_same_seed_gives_the_same_report_as_plain_data():
    first, second = audit(k3, seed=5).to_dict(), audit(k3, seed=5).to_dict()
    assert json.dumps(first) == json.dumps(second)
    assert {"verdict", "value", "gradient", "minimiser", "variance", "extremes", "failures"} <= set(first)


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


@pytest.mark.parametrize(
    ("samples", "match", "target", "law"),
    [
        ("filtered", Match("none", False), "p_*", ("rehearsal", "filtered model")),
        ("filtered", Match("none", False), "base rate", ("rehearsal", "base's own rate")),
        ("filtered", Match("none", False), "none", ("rehearsal", "none")),
        ("policy", Match(TOKEN_SUM, True, 1.0), None, ("each token", "token forward limit")),
        # No run descends a KL on stored samples of the reference, or raises one.
        ("reference", Match(TOKEN_SUM, True, 1.0), None, ("not known", "none")),
        ("policy", Match("reverse KL(pi||ref)", True, -1.0), None, ("not known", "none")),
        ("policy", Match("zero", True), None, ("no penalty", "none")),
        # A declared alpha selects as the KL does; beyond, its tail decides.
        ("policy", Match("alpha-divergence 0.5", True, 1.0), None, ("whole answer", "filtered model")),
        ("policy", Match("alpha-divergence 2.5", True, 1.0), None, ("not known", "none")),
    ],
)
def test_the_place_and_the_divergence_decide_what_is_selected(samples, match, target, law):
    assert law_of(samples, match, target and Minimiser(target, None, 0.0)) == law


def test_a_report_is_shown_in_a_few_lines_and_as_a_table():
    found = audit(k3)
    shown = repr(found).splitlines()
    assert shown[0].startswith("AuditReport: k3 on policy samples: It descends the forward KL(ref||pi)")
    assert len(shown) < 30
    assert "np.float64" not in repr(found)
    assert "<td>value estimates</td><td>the reverse KL(pi||ref)</td>" in found._repr_html_()
    assert found.to_dict()["gradient"]["name"] == "forward KL(ref||pi)"
