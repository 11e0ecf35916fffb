import pytest

from dph_theory.audit import audit
from dph_theory.audit import catalogue_forms as forms
from dph_theory.audit.laws import law_of
from dph_theory.audit.report import Match, Minimiser


@pytest.mark.parametrize(
    ("loss", "law", "selects"),
    [
        (forms.k1_in_return, "whole answer", "filtered model"),
        (forms.corrected_k3, "each token", "locally filtered model"),
        (forms.k3, "each token", "token forward limit"),
        (forms.sequence_corrected_k3, "neither", "none"),
    ],
)
def test_the_place_and_the_estimator_decide_what_is_selected(loss, law, selects):
    report = audit(loss)
    assert (report.law, report.selects) == (law, selects)
    assert (f"selects the {selects}" in report.verdict) is (selects != "none")


def test_rehearsal_selects_what_it_rehearses():
    for target, selects in (("p_*", "filtered model"), ("base rate", "base's own rate"), ("none", "none")):
        match = Match("none", exact=False)
        assert law_of("filtered", match, Minimiser(target, (), None, 0.0)) == ("rehearsal", selects)


def test_what_no_run_has_is_not_named():
    token = Match("token sum of forward KL(ref||pi) on the samples' prefixes", True, 1.0)
    assert law_of("policy", token, None) == ("each token", "token forward limit")
    assert law_of("reference", token, None) == ("neither", "none")
    assert law_of("policy", Match("reverse KL(pi||ref)", True, -1.0), None) == ("neither", "none")
    assert law_of("policy", Match("zero", exact=True), None) == ("no penalty", "none")


def test_any_alpha_between_the_two_kl_divergences_selects_as_one_half_does():
    found = Match("alpha-divergence 0.37", exact=True, constant=1.0)
    assert law_of("policy", found, None) == ("whole answer", "filtered model")
    token = Match("token sum of alpha-divergence 0.37 on the samples' prefixes", True, 1.0)
    assert law_of("policy", token, None) == ("each token", "locally filtered model")
    beyond = Match("alpha-divergence 2.5", exact=True, constant=1.0)
    assert law_of("policy", beyond, None) == ("neither", "none")
