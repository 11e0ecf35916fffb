import numpy as np
import pytest

from dph_theory import mu_from_beta
from dph_theory.losses import METHODS
from toy_lm.styles.variants import TRAINABLE, Variant, coefficient

RATES = np.array([0.1, 0.3, 0.6])


@pytest.mark.parametrize("name", ["DPH-F", "DPH-JS", "DPH-alpha"])
def test_strength_is_the_coefficient_times_the_curvature(name):
    method = Variant(name, strength=0.3).method(RATES)
    assert method.rehearsal.eta * method.rehearsal.divergence.curvature == pytest.approx(0.3, abs=1e-15)


def test_the_js_generator_needs_twice_the_coefficient():
    js, forward = (coefficient(Variant(name, strength=0.3).method(RATES)) for name in ("DPH-JS", "DPH-F"))
    assert js == pytest.approx(2 * forward, abs=1e-15)


@pytest.mark.parametrize("name", ["RKL", "GRPO", "reverse"])
def test_the_strength_of_a_penalty_is_its_coefficient(name):
    assert coefficient(Variant(name, strength=0.7).method(RATES)) == 0.7


@pytest.mark.parametrize("name", METHODS)
def test_without_a_strength_a_method_is_as_published(name):
    assert Variant(name).method(RATES) == METHODS[name]


def test_the_beta_of_kl_control_predicts_its_target():
    beta = coefficient(Variant("KL control", mu=0.8).method(RATES))
    # Theory A9's example.
    assert beta == pytest.approx(0.38622661634118, abs=1e-13)
    assert mu_from_beta(RATES, beta).mean() == pytest.approx(0.8, abs=1e-13)


def test_a_target_out_of_reach_is_named():
    with pytest.raises(ValueError, match=r"mu=0\.2 is not allowed"):
        Variant("KL control", mu=0.2).method(RATES)


def test_labels_tell_variants_apart():
    variants = [
        Variant("DPH-F", strength=0.3),
        Variant("DPH-F", strength=0.1),
        Variant("DPH-F", strength=0.3, place="all"),
        Variant("DPH-F"),
        Variant("reverse", strength=0.3),
        Variant("KL control", mu=0.5),
        Variant("KL control", mu=0.6),
        Variant("alpha-DPG", alpha=0.5),
    ]
    assert len({variant.label for variant in variants}) == len(variants)
    assert Variant("DPH-F", strength=0.3, place="all").label == "DPH-F 0.3 all"


def test_places_are_said_even_when_not_asked():
    assert Variant("DPH-F").place == Variant("reverse").place == "rehearsed"
    assert {Variant(name).place for name in ("GRPO", "DAPO", "RKL")} == {"explored"}
    assert Variant("DPH-F", place="rehearsed") == Variant("DPH-F")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "PPO"}, "name='PPO' is not allowed: one of GRPO, DAPO"),
        (
            {"name": "DPH-F", "place": "explored"},
            "place='explored' is not allowed: for DPH-F one of rehearsed",
        ),
        ({"name": "RKL", "place": "all"}, "for RKL one of explored"),
        ({"name": "DAPO", "strength": 0.1}, "strength=0.1 is not allowed: for DAPO None"),
        ({"name": "RKL", "strength": -0.1}, "at least 0"),
        ({"name": "KL control"}, "mu=None is not allowed: for KL control a number in"),
        ({"name": "KL control", "mu": 1.0}, "mu=1.0"),
        ({"name": "KL control", "mu": 0.5, "strength": 1.0}, "for KL control None"),
        ({"name": "GRPO", "mu": 0.5}, "mu=0.5 is not allowed: for GRPO None"),
        ({"name": "alpha-DPG"}, "alpha=None"),
        ({"name": "DAPO", "alpha": 0.5}, "for DAPO None"),
    ],
)
def test_settings_a_method_lacks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Variant(**arguments)


def test_every_published_method_can_be_trained():
    assert set(METHODS) < set(TRAINABLE)
