import json

import pytest

from dph_theory.audit import Match, audit
from dph_theory.audit.convergence import convergence_of
from dph_theory.audit.report import Finding

NONE = "none of the known quantities"
TOKEN_SUM = "token sum of forward KL(ref||pi) on the samples' prefixes"


def k3(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x).mean()


def test_the_same_seed_gives_the_same_report_as_plain_data():
    first, second = audit(k3, seed=5).to_dict(), audit(k3, seed=5).to_dict()
    assert json.dumps(first) == json.dumps(second)
    assert {"verdict", "value", "gradient", "minimiser", "extremes", "failures"} <= set(first)


@pytest.mark.parametrize(
    ("samples", "match", "target", "convergence"),
    [
        ("filtered", Match("none", False), "p_*", ("rehearsal", "filtered model")),
        ("filtered", Match("none", False), "base rate", ("rehearsal", "base's own rate")),
        ("filtered", Match("none", False), "none", ("rehearsal", "none")),
        ("policy", Match(TOKEN_SUM, True, 1.0), None, ("each token", "small-beta limit of k3")),
        # No run descends a KL on stored samples of the reference, or raises one.
        ("reference", Match(TOKEN_SUM, True, 1.0), None, ("not known", "none")),
        ("policy", Match("reverse KL(pi||ref)", True, -1.0), None, ("not known", "none")),
        ("policy", Match("zero", True), None, ("no penalty", "none")),
        # A declared alpha selects as the KL does; beyond, its tail decides.
        ("policy", Match("alpha-divergence 0.5", True, 1.0), None, ("whole answer", "filtered model")),
        ("policy", Match("alpha-divergence 2.5", True, 1.0), None, ("not known", "none")),
    ],
)
def test_the_place_and_the_divergence_decide_what_is_selected(samples, match, target, convergence):
    assert convergence_of(samples, match, target and Finding("", {"target": target})) == convergence


def test_a_report_is_shown_in_a_few_lines_and_as_a_table():
    report = audit(k3)
    shown = repr(report).splitlines()
    assert shown[0].startswith(
        "AuditReport: k3 on policy samples: It has the gradient of the forward KL(ref||pi)"
    )
    assert len(shown) < 30
    assert "np.float64" not in repr(report)
    assert "<td>value estimates</td><td>the reverse KL(pi||ref)</td>" in report._repr_html_()
    assert report.to_dict()["gradient"]["name"] == "forward KL(ref||pi)"
