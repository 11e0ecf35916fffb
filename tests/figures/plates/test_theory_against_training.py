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
    rows = [
        row("excess KL", 0.3, 0.0, "consistent"),
        row("excess KL", -0.2, 0.0, "inconsistent"),
        row("token sum", 1.5, 1.5, "consistent", relation="==", margin=0.0),
        row("rehearsed mass", 0.2, 0.3, "not enough samples", margin=0.2),
        row("rehearsed mass", 0.3, 0.25, "not enough samples", relation="==", margin="inf"),
    ]
    methods = {"base": passes(0.2, 0.5, None), "GRPO": passes(0.5, 0.6, 0.1)}
    results = {"set": "in_domain", "prompts": 10, "rows": rows, "methods": methods}
    demo = record("full_scale.demo", seed=0, config={"seeds": [0, 1, 2]}, results=results, findings=[])
    monkeypatch.setattr(store, "load", lambda name, kind, folder=None: demo)
    return FIGURE.numbers()


def test_gaps_are_measured_minus_predicted(numbers):
    claims = numbers["results"]["claims"]
    assert [entry["gap"] for entry in claims["excess KL"]["rows"]] == [0.3, -0.2]
    assert [entry["gap"] for entry in claims["rehearsed mass"]["rows"]] == pytest.approx([-0.1, 0.05])
    assert {name: claim["nats"] for name, claim in claims.items()} == {
        "excess KL": True, "token sum": True, "rehearsed mass": False,
    }  # fmt: skip


def test_pass_at_k_has_intervals_over_seeds(numbers):
    methods = numbers["results"]["methods"]
    assert methods["base"] == {"k": [1, 8], "mean": [0.2, 0.5], "low": None, "high": None}
    # t with two degrees of freedom is 4.3027 at 95%.
    assert methods["GRPO"]["high"][0] - 0.5 == pytest.approx(4.30265273 * 0.1 / 3**0.5, rel=1e-7)


def test_the_verdicts_are_counted(numbers):
    assert numbers["findings"] == [
        "Of 5 predictions for 1 method and 3 seeds, 2 are consistent with what was measured, 1 are not, and "
        "2 had not enough samples.",
        "Not consistent: excess KL (A8) of grpo-seed0 on in_domain prompts, off by -0.200 with "
        "a margin of 0.100.",
    ]
    for entry in numbers["results"]["claims"]["excess KL"]["rows"]:
        entry["verdict"] = "consistent"
    assert len(FIGURE.findings(numbers["results"])) == 1


def test_it_draws_even_an_unbounded_margin(numbers):
    with theme.look():
        assert_drawn(FIGURE.drawing(numbers))


def test_the_committed_numbers():
    assert_recomputed(FIGURE.name)
    assert_figure_draws(FIGURE.name)
