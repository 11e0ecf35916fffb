from dataclasses import replace

import numpy as np
import pytest

from dph_theory.dynamics import pass_rate_along
from dph_theory.laws import normalised_validity_at
from dph_theory.predict import configuration_of, predict


def trl(beta, group_size=8, **others):
    return configuration_of({"beta": beta, "num_generations": group_size, **others})


def verl(beta, group_size=8):
    actor, n = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.n"
    settings = {f"{actor}use_kl_loss": True, f"{actor}kl_loss_coef": beta, n: group_size}
    return configuration_of({**settings, "algorithm.adv_estimator": "grpo"})


def of_weight_one(found):
    return replace(found, scale="leave_one_out")


def test_the_pass_rate_reached_from_a_quarter():
    assert predict(trl(1.0), [0.25]).mean_validity == pytest.approx(0.670190, abs=5e-7)
    assert predict(of_weight_one(trl(0.5)), [0.25]).mean_validity == pytest.approx(0.711235, abs=5e-7)


def test_equivalent_betas_have_the_same_validity():
    found = predict(verl(0.3, 4), [0.2])
    beta = found.equivalent["reverse KL, advantages not divided"]
    assert normalised_validity_at(0.2, beta, 4, "none") == pytest.approx(found.mean_validity, rel=1e-9)
    assert found.equivalent["forward KL, advantages divided by the deviation"] == pytest.approx(0.3, rel=1e-9)


def test_several_pass_rates_are_told():
    (prompt,) = predict(trl(0.42, 32), [0.01]).prompts
    assert prompt.validity == pytest.approx(0.504222, abs=5e-7)
    assert prompt.others == pytest.approx((0.999782,), abs=5e-7)


def test_prompts_that_cannot_move_stay():
    found = predict(trl(0.1, 4), [0.0, 1.0])
    assert [prompt.validity for prompt in found.prompts] == [0, 1]
    assert found.equivalent == {}
    with pytest.raises(ValueError, match="at least one base rate"):
        predict(trl(0.1, 4), [])


def test_without_a_kl_every_prompt_that_moves_ends_at_one():
    found = predict(trl(0.0), {"a": 0.2, "b": 0.0}, step=0.5, steps=20)
    assert [(prompt.id, prompt.validity) for prompt in found.prompts] == [("a", 1), ("b", 0)]
    assert 0.2 < found.prompts[0].on_the_way < 1
    assert found.equivalent == {}


def test_settings_without_a_law_are_refused():
    with pytest.raises(
        ValueError, match=r"no pass rates are told: the advantage is .* no objective is known"
    ):
        predict(configuration_of({}, "nemo-rl"), [0.5])
    alone = configuration_of({"kl_penalty_coef": 0.1})
    assert alone.unpredicted == "the settings do not say how many answers a prompt has (group_size)"
    with pytest.raises(ValueError, match="how many answers a prompt has"):
        predict(alone, [0.5])


def trained(beta, base_rate, clip):
    """The validity that exact ascent of V less beta times k3, its value clipped, ends at from the base."""
    base, reward = np.array([base_rate, 1 - base_rate]), np.array([1.0, 0.0])
    logits = np.log(base)
    for _ in range(20_000):
        pi = np.exp(logits - logits.max())
        pi /= pi.sum()
        ratio = np.maximum(pi, 1e-300) / base
        slope = np.where(1 / ratio - 1 + np.log(ratio) < clip, 1 - 1 / ratio, 0.0)
        # The natural gradient: in logits it is the advantage itself.
        gain = reward - beta * slope
        logits = logits + 0.2 * (gain - pi @ gain)
    return pi[0]


@pytest.mark.parametrize("beta", [0.2, 0.09, 0.06])
def test_below_the_clip_nothing_holds_a_wrong_answer(beta):
    found = predict(of_weight_one(verl(beta)), [0.25]).mean_validity
    assert found == pytest.approx(trained(beta, 0.25, 10), abs=1e-6)
    assert (found == 1) is (beta < 0.07)
    unclipped = trl(beta, use_bias_correction_kl=False)
    assert predict(of_weight_one(unclipped), [0.25]).mean_validity < 1


def test_a_verifier_that_errs_acts_as_a_larger_beta():
    found = predict(of_weight_one(trl(0.5)), [0.25], false_negative=0.2)
    assert found.mean_validity == pytest.approx(0.622785, abs=5e-7)
    found = predict(of_weight_one(trl(0.5)), [0.25], false_positive=0.05, false_negative=0.2)
    assert found.mean_validity == pytest.approx(0.599021, abs=5e-7)
    with pytest.raises(ValueError, match="scale='std' is not allowed: one of none, leave_one_out"):
        predict(trl(0.5), [0.25], false_negative=0.2)


def test_the_time_told_is_that_of_the_flow():
    (prompt,) = predict(trl(0.5), [0.25]).prompts
    way = {"valid": 2, "invalid": 8, "beta": 0.5, "group_size": 8, "scale": "std"}
    (reached,) = pass_rate_along(0.25, [prompt.time], **way)
    assert reached == pytest.approx(0.25 + 0.99 * (prompt.validity - 0.25), abs=2e-4)
