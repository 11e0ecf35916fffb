"""Which law a recipe's settings lead to."""

import pytest

from dph_theory import FORWARD_KL, REVERSE_KL
from full_scale.comparison.training_laws import training_law
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig


def law_of(name, **method):
    return training_law(setup(MethodConfig(name=name, **method)).arguments, {"num_generations": 4})


@pytest.mark.parametrize(
    ("name", "place", "divergence", "scale"),
    [
        ("KL-control-sequence", "sequence", REVERSE_KL, "leave_one_out"),
        ("KL-control", "token", REVERSE_KL, "none"),
        ("GRPO-KL", "token", FORWARD_KL, "std"),
        ("RKL", "token", FORWARD_KL, "std"),
    ],
)
def test_place_divergence_and_normalisation(name, place, divergence, scale):
    law = law_of(name, beta=0.3)
    assert (law.place, law.divergence, law.scale, law.beta) == (place, divergence, scale, 0.3)
    assert law.group_size == 4


@pytest.mark.parametrize("name", ["GRPO", "DAPO", "DPH-F", "KL-DPG"])
def test_without_a_penalty_there_is_no_law(name):
    assert law_of(name) is None


def test_only_reverse_kl_without_division_is_a_tilt():
    assert law_of("KL-control-sequence", beta=0.3).weight == pytest.approx(1)
    assert law_of("KL-control", beta=0.3).weight == pytest.approx(3 / 4)
    assert law_of("KL-control", beta=0.3).is_tilt
    assert not law_of("RKL", beta=0.3).is_tilt
