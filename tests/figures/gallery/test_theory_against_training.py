import math

import pytest
from support.drawing_checks import assert_figure_draws

from dph_theory.support.record import record
from figures.gallery.theory_against_training import FIGURE
from figures.records import Records


def row(name, estimate, prediction, verdict, *, relation=">=", margin=0.1):
    return {
        "name": name, "theory": "A8", "run": "grpo-seed0", "set": "in_domain", "estimate": estimate,
        "prediction": prediction, "relation": relation, "margin": margin, "verdict": verdict,
    }  # fmt: skip


def passes(first, many):
    values = {"Pass@1": first, "Pass@8": many, "greedy": ()}
    return {name: {"values": each} for name, each in values.items()}


@pytest.fixture(scope="module")
def results():
    checks = [
        row("excess KL", 0.3, 0.0, "consistent"),
        row("excess KL", -0.2, 0.0, "inconsistent"),
        row("token sum", 1.5, 1.5, "consistent", relation="==", margin=0.0),
    ]
    predictions = [
        row("rehearsed mass", 0.2, 0.3, "not enough samples", margin=0.2),
        row("rehearsed mass", 0.3, 0.25, "not enough samples", relation="==", margin="inf"),
    ]
    methods = {"base": passes([0.2], [0.5]), "GRPO": passes([0.4, 0.5, 0.6], [0.9, 1.0, 1.0])}
    gaps = [{"expected": 1, "found": 1}, {"expected": -1, "found": 0}, {"expected": 0, "found": 1}]
    made = {
        "set": "in_domain", "prompts": 10, "checks": checks, "predictions": predictions, "methods": methods,
        "differences": gaps,
    }  # fmt: skip
    demo = record("full_scale.demo", seed=0, config={}, results=made, findings=[])
    return FIGURE.compute(FIGURE.config, Records({"demo": demo}))


def test_gaps_are_measured_minus_theory_in_margins(results):
    excess, token_sum = results.checks
    assert [point.margins for point in excess.points] == pytest.approx([3.0, -2.0])
    assert token_sum.points[0].margins == 0
    (mass,) = results.predictions
    assert [point.margins for point in mass.points] == pytest.approx([-0.5, 0.0])
    assert mass.relations == (">=", "==")


def test_pass_at_k_has_intervals_over_seeds(results):
    base, grpo = results.methods["base"], results.methods["GRPO"]
    assert (base.k, list(base.means.mean), base.means.low) == ((1, 8), [0.2, 0.5], None)
    # t with two degrees of freedom is 4.3027 at 95%, and the deviation .1, moved to the logit scale at .5.
    reach = 4.30265273 * 0.1 / 3**0.5 / 0.25
    assert grpo.means.high[0] == pytest.approx(1 / (1 + math.exp(-reach)), rel=1e-7)
    assert grpo.means.high[1] < 1


def test_the_table_counts_the_verdicts(results):
    assert [list(row[1:]) for row in FIGURE.table(results).rows] == [[2, 0, 1], [0, 2, 0], [1, 1, 0]]


def test_it_draws_even_an_unbounded_margin(results):
    assert_figure_draws(FIGURE.name, results)


def test_the_titles_count_what_holds(results):
    titles = [ax.get_title() for ax in FIGURE.draw(FIGURE.config, results).axes]
    assert titles[:2] == ["2 of 3 checks hold", "0 of 2 predictions hold"]
