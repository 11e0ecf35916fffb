import pytest
from support.drawing_checks import assert_drawn, assert_figure_draws, assert_recomputed

from dph_theory.support.record import record
from figures.look import theme
from figures.plates.theory_against_training import FIGURE
from figures.results import store


def row(name, estimate, prediction, verdict, *, relation=">=", margin=0.1):
    return {
        "name": name, "theory": "A8", "run": "grpo-seed0", "set": "in_domain", "estimate": estimate,
        "prediction": prediction, "relation": relation, "margin": margin, "verdict": verdict,
    }  # fmt: skip


def passes(first, many, deviation):
    spread = {"Pass@1": first, "Pass@8": many, "greedy": 0.5}
    return {name: {"mean": mean, "deviation": deviation} for name, mean in spread.items()}


@pytest.fixture
def numbers(tmp_path, monkeypatch):
    checks = [
        row("excess KL", 0.3, 0.0, "consistent"),
        row("excess KL", -0.2, 0.0, "inconsistent"),
        row("token sum", 1.5, 1.5, "consistent", relation="==", margin=0.0),
    ]
    predictions = [
        row("rehearsed mass", 0.2, 0.3, "not enough samples", margin=0.2),
        row("rehearsed mass", 0.3, 0.25, "not enough samples", relation="==", margin="inf"),
    ]
    methods = {"base": passes(0.2, 0.5, None), "GRPO": passes(0.5, 0.6, 0.1)}
    gaps = [{"expected": 1, "found": 1}, {"expected": -1, "found": 0}, {"expected": 0, "found": 1}]
    results = {
        "set": "in_domain", "prompts": 10, "checks": checks, "predictions": predictions, "methods": methods,
        "differences": gaps,
    }  # fmt: skip
    demo = record("full_scale.demo", seed=0, config={"seeds": [0, 1, 2]}, results=results, findings=[])
    monkeypatch.setattr(store, "load", lambda name, kind, folder=None: demo)
    return FIGURE.numbers()


def test_gaps_are_measured_minus_theory_in_margins(numbers):
    results = numbers["results"]
    assert [line["margins"] for line in results["checks"]["excess KL"]["lines"]] == pytest.approx([3.0, -2.0])
    assert results["checks"]["token sum"]["lines"][0]["margins"] == 0
    mass = results["predictions"]["rehearsed mass"]
    assert [line["margins"] for line in mass["lines"]] == pytest.approx([-0.5, 0.0])
    assert mass["relations"] == [">=", "=="]


def test_pass_at_k_has_intervals_over_seeds(numbers):
    methods = numbers["results"]["methods"]
    assert methods["base"] == {"k": [1, 8], "mean": [0.2, 0.5], "low": None, "high": None}
    # t with two degrees of freedom is 4.3027 at 95%.
    assert methods["GRPO"]["high"][0] - 0.5 == pytest.approx(4.30265273 * 0.1 / 3**0.5, rel=1e-7)


def test_the_verdicts_are_counted(numbers):
    checks, predictions, differences = numbers["findings"]
    assert "3 instrument checks, which hold for every policy, 1 are" in checks
    assert "2 predictions" in predictions
    assert "2 had not enough" in predictions
    assert "Of 2 differences" in differences
    assert "1 were found" in differences


def test_it_draws_even_an_unbounded_margin(numbers):
    with theme.look():
        assert_drawn(FIGURE.drawing(numbers))


def test_the_committed_numbers():
    assert_recomputed(FIGURE.name)
    assert_figure_draws(FIGURE.name)
