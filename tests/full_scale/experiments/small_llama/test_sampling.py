from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from dph_theory.stationary import policy_after_resets, policy_at_temperature, token_policy
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama.predictions import predictions, sampled_policy
from full_scale.experiments.small_llama.runs import LlamaRun
from full_scale.experiments.small_llama.sampling import SAMPLINGS, Sampling


def base_of(name):
    task = enumerable_task(name)
    return task, [table[0] for table in task.base], task.valid[0]


@pytest.mark.parametrize(
    ("name", "form", "beta", "policy"),
    [
        ("temperature 1.3", "k2", 0.5, partial(policy_at_temperature, temperature=1.3, solver=token_policy)),
        # References that follow have the policy of their rounds.
        ("five references", "k3_corrected", 1.0, partial(policy_after_resets, rounds=5, solver=token_policy)),
    ],
)
def test_the_policy_under_a_sampling_is_that_of_the_theory(name, form, beta, policy):
    task, base, valid = base_of("selection-2")
    found = sampled_policy(SAMPLINGS[name], base, valid, form=form, beta=beta, end=task.end)
    for mine, theirs in zip(found, policy(base, valid, beta, end=task.end), strict=True):
        np.testing.assert_allclose(mine[:2], theirs[:2], atol=3e-4)


def test_masking_what_is_cut_off_lets_it_grow():
    task, base, valid = base_of("cut")
    how = {"form": "k2", "beta": 0.3, "end": task.end}
    policies = [
        sampled_policy(sampling, base, valid, **how) for sampling in (SAMPLINGS["masked"], Sampling())
    ]
    cut, masked, plain = (1 - (first[:2] * then[:2, 2]).sum() - first[2] for first, then in (base, *policies))
    assert masked > 0.8 * cut
    assert plain < 0.3 * cut


def test_the_trainer_gets_the_arguments_and_the_rest_by_hand():
    run = LlamaRun("samplers", "cut", "k3_corrected", 0.3, sampler="masked")
    assert run.arguments["mask_truncated_completions"] is True
    assert LlamaRun("x", "cut", "k2", 0.3, sampler="temperature .7").arguments["temperature"] == 0.7
    added, config = [], SimpleNamespace(temperature=1.0)
    others = {"ref_model": None, "accelerator": None, "add_callback": added.append}
    trainer = SimpleNamespace(generation_config=config, args=SimpleNamespace(), **others)
    SAMPLINGS["drawn at .6"].prepare(trainer, 300)
    assert (config.temperature, added) == (0.6, [])
    SAMPLINGS["five references"].prepare(trainer, 500)
    assert (trainer.args.ref_model_sync_steps, len(added)) == (100, 1)


def test_the_policy_under_the_sampler_stands_before_its_rivals():
    run = LlamaRun("samplers", "one-word-six", "k2", 0.3, sampler="drawn at .6")
    predicted = predictions(run, enumerable_task(run.task), [*enumerable_task(run.task).base])
    assert predicted[0].name == "token reverse KL, drawn at .6"
    rates = {policy.name: policy.exact.pass_rate[0] for policy in predicted}
    assert rates[predicted[0].name] == pytest.approx(0.8455, abs=0.003)
    assert rates["token reverse KL"] == pytest.approx(0.949, abs=0.003)
