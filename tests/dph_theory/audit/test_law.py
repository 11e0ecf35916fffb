import math

import pytest
from support.losses_with_known_answers import minus_log_u, rehearsed_k3, u_log_u

from dph_theory.audit import audit
from dph_theory.audit.law import law_of
from dph_theory.audit.report import Match, Minimiser
from dph_theory.losses import kl_term


@pytest.mark.parametrize(
    ("loss", "law", "selects"),
    [
        (kl_term("reward", "k1"), "whole answer", "filtered model"),
        (kl_term("ratio", "k3"), "each token", "locally filtered model"),
        (kl_term("loss", "k3"), "each token", "token forward limit"),
        (kl_term("answer ratio", "k3"), "not known", "none"),
    ],
)
def test_the_place_and_the_estimator_decide_what_is_selected(loss, law, selects):
    report = audit(loss)
    assert (report.law, report.selects) == (law, selects)
    assert (f"({selects}" in report.verdict) is (selects != "none")


def test_rehearsal_selects_what_it_rehearses():
    for target, selects in (("p_*", "filtered model"), ("base rate", "base's own rate"), ("none", "none")):
        match = Match("none", exact=False)
        assert law_of("filtered", match, Minimiser(target, None, 0.0)) == ("rehearsal", selects)


def test_what_no_run_has_is_not_named():
    token = Match("token sum of forward KL(ref||pi) on the samples' prefixes", True, 1.0)
    assert law_of("policy", token, None) == ("each token", "token forward limit")
    assert law_of("reference", token, None) == ("not known", "none")
    assert law_of("policy", Match("reverse KL(pi||ref)", True, -1.0), None) == ("not known", "none")
    assert law_of("policy", Match("zero", exact=True), None) == ("no penalty", "none")


def test_a_declared_alpha_selects_as_the_kl_divergence_does_and_what_lies_beyond_is_not_known():
    found = Match("alpha-divergence 0.5", exact=True, constant=1.0)
    assert law_of("policy", found, None) == ("whole answer", "filtered model")
    beyond = Match("alpha-divergence 2.5", exact=True, constant=1.0)
    assert law_of("policy", beyond, None) == ("not known", "none")


@pytest.mark.parametrize(
    ("loss", "target", "ratio"),
    [
        (minus_log_u, "p_*", None),
        (rehearsed_k3, "base rate", 1.0),
        (u_log_u, "constant", math.exp(-1)),
        (lambda log_pi, log_ref: (log_pi - log_ref).mean(), "none", None),
        (lambda log_pi: (0 * log_pi).sum(), "none", None),
    ],
)
def test_the_gauge_decides_the_mass(loss, target, ratio):
    found = audit(loss, samples="filtered", seed=4).minimiser
    assert found.target == target
    assert found.ratio == (ratio if ratio is None else pytest.approx(ratio, rel=1e-4))
    assert target == "none" or found.within_valid < 1e-3


def test_a_clamp_is_the_law_without_it_until_it_lets_the_wrong_tokens_go():
    report = audit(kl_term("loss", "k3", inner=20, outer=10))
    assert not report.sequence_gradient.exact
    assert report.known.name == "token sum of forward KL(ref||pi) on the samples' prefixes"
    assert (report.law, report.selects) == ("each token", "locally filtered model")
    said = "While every log(pi/ref) is between -2.61 and 11 it descends the forward KL(ref||pi) of each token"
    assert said in report.verdict
    # e^-x - 1 + x is 10 at these.
    assert report.limits[0].words == "every log(pi/ref) is between -2.61 and 11"
    # A clamp that no beta in use reaches changes nothing.
    assert audit(kl_term("loss", "k3", inner=40)).selects == "token forward limit"
    assert law_of("policy", Match("zero", exact=True), None, released_below=-3.0) == ("no penalty", "none")
