import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws
from support.small_experiment_records import quick_numbers

from dph_theory.losses import METHODS
from figures.plates.sweeps import FIGURE, worth
from toy_lm.strategies import Config


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return quick_numbers("sweeps", tmp_path_factory.mktemp("numbers"))


def point(place, divergence, first, sixteenth, strength=1.0):
    return {"place": place, "divergence": divergence, "strength": strength, "point": [first, sixteenth]}


def test_place_and_divergence_are_told_apart():
    points = [
        point("D_pef", "forward KL", 0.5, 0.9),
        point("D_pef", "reverse KL", 0.5, 0.7),
        point("all prompts", "forward KL", 0.4, 0.95),
        point("all prompts", "reverse KL", 0.5, 0.85),
    ]
    assert worth(points, 1.0) == pytest.approx({"spread": 0.2, "gain_1": -0.05, "gain_k": 0.1})
    assert worth(points[:2], 1.0) is None
    assert worth(points, 2.0) is None


def test_the_ends_of_alpha_are_the_two_kls(quick):
    found = quick["results"]["strategies"]
    points = {(p["place"], p["divergence"], p["strength"]): p["point"][1] for p in found["points"]}
    for curve in found["alpha"]:
        assert curve["alpha"] == [0.0, 0.5, 1.0]
        ends = [points["D_pef", name, curve["strength"]] for name in ("reverse KL", "alpha", "forward KL")]
        assert curve["pass_at_k"] == ends


def test_a_strong_anchor_on_all_prompts_holds_the_policy_at_the_base(quick):
    found = quick["results"]["strategies"]
    gaps = {}
    for p in found["points"]:
        if (p["place"], p["divergence"]) == ("all prompts", "forward KL"):
            gaps[p["strength"]] = np.abs(np.subtract(p["point"], found["base"])).sum()
    assert gaps[3.0] < gaps[0.1]


def test_the_tiny_transformer_is_read_from_its_first_base(quick):
    found = quick["results"]["styles"]
    assert found["base"] == [0.4, 0.9]
    assert found["none"] == pytest.approx([0.5, 0.82])
    # made up: all prompts cost .02 of Pass@1 and give .01 of Pass@16; divergences are .02 apart
    assert worth(found["points"], 0.03) == pytest.approx({"spread": 0.06, "gain_1": -0.02, "gain_k": 0.01})


def test_the_findings_give_the_worth_of_either_choice(quick):
    said = FIGURE.findings(quick["results"])
    tiny = next(sentence for sentence in said if "Tiny transformer" in sentence)
    assert "changes Pass@16 by up to 0.060; all prompts in its place change it by +0.010" in tiny
    for p in quick["results"]["styles"]["points"]:
        p["place"] = "D_pef"
    assert not [s for s in FIGURE.findings(quick["results"]) if "Tiny" in s]


def test_the_caption_names_the_alphas():
    assert Config().alpha == 0.5
    assert METHODS["DPH-alpha"].rehearsal.divergence.alpha == 0.2
    assert "alpha is 0.5 for strategies and 0.2 for the transformer" in FIGURE.caption


def test_it_draws(tmp_path):
    assert_figure_draws("sweeps", quick_numbers("sweeps", tmp_path))


def test_the_committed_numbers():
    assert_figure_draws("sweeps")
