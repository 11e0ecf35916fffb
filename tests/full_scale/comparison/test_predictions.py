"""Which law a recipe's settings lead to."""

import pytest

from dph_theory import FORWARD_KL, REVERSE_KL
from full_scale.recipe.law import law_of, rehearsal_target
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig


def law(name, **method):
    return law_of(setup(MethodConfig(name=name, **method), train={"num_generations": 4}).arguments)


@pytest.mark.parametrize(
    ("name", "place", "divergence", "scale", "tilted_by"),
    [
        ("KL-control-sequence", "sequence", REVERSE_KL, "leave_one_out", 1),
        ("KL-control", "token", REVERSE_KL, "none", 3 / 4),
        ("GRPO-KL", "token", FORWARD_KL, "std", None),
        ("RKL", "token", FORWARD_KL, "std", None),
    ],
)
def test_place_divergence_and_normalisation(name, place, divergence, scale, tilted_by):
    found = law(name, beta=0.3)
    assert (found.place, found.divergence, found.scale, found.beta) == (place, divergence, scale, 0.3)
    assert found.group_size == 4
    # Only the reverse KL without division is a tilt.
    assert found.is_tilt == (tilted_by is not None)
    assert tilted_by is None or found.weight == pytest.approx(tilted_by)


@pytest.mark.parametrize("name", ["GRPO", "DAPO", "DPH-F", "KL-DPG"])
def test_without_a_penalty_there_is_no_law(name):
    assert not law(name)
    assert str(law(name)) == "none, there is no KL penalty"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ({"name": "DPH-F"}, "one"),
        ({"name": "DPH-F", "gauge": 1.0}, "base"),
        ({"name": "DPH-F", "gauge": 0.5}, None),
        ({"name": "DPH-F", "eta": 0.0}, None),
        ({"name": "DPH-F", "form": "definition"}, None),
        ({"name": "DPH-JS"}, "base"),
        ({"name": "DPH-JS", "gauge": 0.1}, None),
        ({"name": "DPH-alpha", "alpha": 0.7}, "base"),
        ({"name": "GRPO"}, None),
    ],
)
def test_what_a_rehearsal_aims_at(method, target):
    assert rehearsal_target(setup(MethodConfig(**method)).arguments) == target
