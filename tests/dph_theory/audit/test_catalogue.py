from functools import cache

import pytest

from dph_theory.audit import catalogue
from dph_theory.audit.catalogue import audit_form, form_of
from dph_theory.methods.estimators import CATALOGUE
from dph_theory.references import REFERENCES

pytestmark = pytest.mark.slow
REVERSE, FORWARD = "reverse KL(pi||ref)", "forward KL(ref||pi)"
JS = "JS generator (twice the JS divergence)"
PUBLIC_CODE_OR_REPORTS = ("DeepSeek-V3.2, arXiv:", "verl, ", "TRL, ")


@cache
def report(name, samples):
    (index,) = [i for i, form in enumerate(CATALOGUE) if (form.title, form.samples) == (name, samples)]
    return audit_form(index)


def test_every_form_is_one_and_has_a_source():
    assert len({(form.title, form.samples) for form in CATALOGUE}) == len(CATALOGUE)
    for form in CATALOGUE:
        known = form.source.split(",")[0] in REFERENCES
        assert known or form.source.startswith(PUBLIC_CODE_OR_REPORTS), form.source


@pytest.mark.parametrize("form", CATALOGUE, ids=lambda form: f"{form.title}, {form.samples}")
def test_every_form_can_be_audited_everywhere(form):
    found = report(form.title, form.samples)
    assert found.failures == ()
    assert found.gradient.name != "failed"
    assert form_of(found) is form


@pytest.mark.parametrize(
    ("name", "samples", "value", "gradient"),
    [
        ("k1", "policy", REVERSE, "zero"),
        ("k2", "policy", None, REVERSE),
        ("k3", "policy", REVERSE, FORWARD),
        ("k3", "old_policy", None, None),
        ("k1 in the reward", "policy", None, REVERSE),
        ("k1 in the reward to go", "policy", None, REVERSE),
        ("k1 in each token's own advantage", "policy", None, REVERSE),
        ("corrected k3", "policy", REVERSE, REVERSE),
        ("corrected k3", "old_policy", REVERSE, REVERSE),
        ("k3 corrected by a sequence ratio", "policy", REVERSE, REVERSE),
        ("absolute log ratio", "policy", None, "total variation"),
        ("clamped k3", "policy", None, None),
        ("value of k3, gradient of k2", "policy", None, REVERSE),
        ("f-DPG forward KL", "policy", None, FORWARD),
        ("f-DPG reverse KL", "policy", None, REVERSE),
        ("f-DPG JS", "policy", None, JS),
        ("released forward", "reference", None, None),
        ("released js", "reference", None, None),
        ("released js_low_var", "reference", JS, JS),
        ("released alpha", "reference", "alpha-divergence 0.2", "alpha-divergence 0.2"),
        ("forward KL, printed", "reference", FORWARD, FORWARD),
        ("forward KL, printed", "filtered", "forward KL(p_*||pi) + log A1", "forward KL(p_*||pi)"),
        ("forward KL, normalised", "reference", FORWARD, FORWARD),
        ("JS", "reference", JS, JS),
        ("alpha 0.5", "reference", "alpha-divergence 0.5", "alpha-divergence 0.5"),
    ],
)
def test_what_it_estimates_and_what_it_descends(name, samples, value, gradient):
    found = report(name, samples)
    for match, wanted in ((found.value, value), (found.gradient, gradient)):
        assert match.exact == (wanted is not None)
        if wanted is not None:
            assert match.name == wanted
            # sum |pi - ref| is twice the total variation.
            constant = 2 if wanted == "total variation" else 1
            assert match.constant is None or match.constant == pytest.approx(constant)


@pytest.mark.parametrize("name", [form.title for form in CATALOGUE if form.samples == "filtered"])
def test_what_is_rehearsed(name):
    assert report(name, "filtered").minimiser.target == ("p_*" if "printed" in name else "base rate")


@pytest.mark.parametrize("name", ["released js_low_var", "released alpha"])
def test_products_and_powers_of_the_ratio_become_nan_where_ours_do_not(name):
    assert any(extremes.nan for extremes in report(name, "reference").extremes)
    for ours in ("forward KL, printed", "forward KL, normalised", "JS", "alpha 0.5"):
        assert not any(e.nan for e in report(ours, "reference").extremes)


def test_an_unknown_report_is_no_form():
    found = report("k1", "policy")
    with pytest.raises(ValueError, match="k1 on filtered samples is no form"):
        form_of(type(found)(**{**vars(found), "samples": "filtered"}))


def test_in_parallel_the_reports_keep_their_order(monkeypatch):
    monkeypatch.setattr(catalogue, "LOSSES", {"published": CATALOGUE[:3]})
    seen = []
    reports = catalogue.audit_catalogue(on_report=seen.append)
    assert [r.loss for r in reports] == ["k1", "k2", "k3"]
    assert {r.loss for r in seen} == {"k1", "k2", "k3"}
    assert reports[0] == report("k1", "policy")
