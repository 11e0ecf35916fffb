from dataclasses import replace

import numpy as np
import pytest

from dph_theory.predict import configuration_of, predict
from dph_theory.predict.configuration import Case


def trl(beta, group_size=8, **others):
    return configuration_of({"beta": beta, "num_generations": group_size, **others}, "trl")


def verl(beta, group_size=8):
    actor, n = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.n"
    settings = {f"{actor}use_kl_loss": True, f"{actor}kl_loss_coef": beta, n: group_size}
    return configuration_of({**settings, "algorithm.adv_estimator": "grpo"}, "verl")


def of_weight_one(configuration):
    advantage = configuration.objective.advantage._replace(scale="leave_one_out")
    return replace(configuration, cases=(Case("", replace(configuration.objective, advantage=advantage)),))


GROUP_NORM = {"algo.advantage.estimator": "group_norm", "rollout.n_samples_per_prompt": 8}
GROUP_NORM |= {"algo.kl.init_coef": 0.5}


@pytest.mark.parametrize(
    ("configuration", "verifier", "reached"),
    [
        (trl(1.0), {}, 0.670190),
        (trl(0.5), {}, 0.975550),
        (configuration_of(GROUP_NORM, "openrlhf"), {}, 0.975550),
        (of_weight_one(trl(0.5)), {}, 0.711235),
        # Centred, not divided: logit mu = logit A1 + (1 - 1/G)/beta.
        (configuration_of({"kl_penalty_coef": 0.5, "group_size": 8}, "tinker"), {}, 0.657323),
        # A verifier that errs acts as a larger beta.
        (of_weight_one(trl(0.5)), {"false_negative": 0.2}, 0.622785),
        (of_weight_one(trl(0.5)), {"false_positive": 0.05, "false_negative": 0.2}, 0.599021),
    ],
)
def test_the_pass_rate_reached_from_a_quarter(configuration, verifier, reached):
    (prompt,) = predict(configuration, [0.25], **verifier).prompts
    assert prompt.pass_rate == pytest.approx(reached, abs=1e-6)


def test_several_pass_rates_are_told():
    (prompt,) = predict(trl(0.42, 32), [0.01]).prompts
    assert (prompt.pass_rate, *prompt.also_stable) == pytest.approx((0.504222, 0.999782), abs=5e-7)


def test_prompts_that_cannot_move_stay_and_without_a_kl_those_that_move_end_at_one():
    found = predict(trl(0.1, 4), [0.0, 1.0])
    assert [prompt.pass_rate for prompt in found.prompts] == [0, 1]
    found = predict(trl(0.0), {"a": 0.2, "b": 0.0})
    assert [(prompt.id, prompt.pass_rate) for prompt in found.prompts] == [("a", 1), ("b", 0)]


def test_what_cannot_be_predicted_is_refused():
    with pytest.raises(ValueError, match="at least one base rate"):
        predict(trl(0.1, 4), [])
    with pytest.raises(ValueError, match=r"no pass rates: the advantage is .* no objective is known"):
        predict(configuration_of({}, "nemo-rl"), [0.5])
    with pytest.raises(ValueError, match=r"scale=.std. is not allowed: one of none, leave_one_out"):
        predict(trl(0.5), [0.25], false_negative=0.2)
    for beta in (0.5, 0.0):
        with pytest.raises(ValueError, match="training goes the other way"):
            predict(of_weight_one(trl(beta)), [0.25], false_positive=0.6, false_negative=0.6)


BETAS = [0.2, 0.09, 0.06]


def trained(betas, base_rate, clip):
    """The pass rates that exact ascent of V less beta times k3, its value clipped, ends at from the base."""
    base, reward, betas = np.array([base_rate, 1 - base_rate]), np.array([1.0, 0.0]), np.array(betas)[:, None]
    logits = np.log(base)
    for _ in range(1000):
        pi = np.exp(logits - logits.max(axis=-1, keepdims=True))
        pi /= pi.sum(axis=-1, keepdims=True)
        ratio = np.maximum(pi, 1e-300) / base
        slope = np.where(1 / ratio - 1 + np.log(ratio) < clip, 1 - 1 / ratio, 0.0)
        # The natural gradient: in logits it is the advantage itself.
        gain = reward - betas * slope
        logits = logits + 0.2 * (gain - (pi * gain).sum(axis=-1, keepdims=True))
    return pi[:, 0]


def test_below_the_clip_nothing_holds_a_wrong_answer():
    found = [predict(of_weight_one(verl(beta)), [0.25]).mean_pass_rate for beta in BETAS]
    assert found == pytest.approx(trained(BETAS, 0.25, 10), abs=1e-6)
    assert [each == 1 for each in found] == [False, False, True]
    unclipped = trl(BETAS[-1], use_bias_correction_kl=False)
    assert predict(of_weight_one(unclipped), [0.25]).mean_pass_rate < 1
