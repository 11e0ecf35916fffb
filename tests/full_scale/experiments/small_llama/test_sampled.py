from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from dph_theory.stationary import policy_after_resets, policy_at_temperature, token_policy
from full_scale.experiments.enumerable_tasks.box import box
from full_scale.experiments.small_llama.predictions import predictions
from full_scale.experiments.small_llama.runs import Run
from full_scale.experiments.small_llama.sampled import SAMPLINGS, Sampling, sampled_law


def base_of(name):
    task = box(name)
    return task, [table[0] for table in task.base], task.valid[0]


@pytest.mark.parametrize(
    ("name", "form", "beta", "law"),
    [
        ("temperature 1.3", "k2", 0.5, partial(policy_at_temperature, temperature=1.3, law=token_policy)),
        # References that follow have the law of their rounds.
        ("five references", "k3_corrected", 1.0, partial(policy_after_resets, rounds=5, law=token_policy)),
    ],
)
def test_the_law_under_a_sampling_is_that_of_the_theory(name, form, beta, law):
    task, base, valid = base_of("selection-2")
    found = sampled_law(SAMPLINGS[name], base, valid, form=form, beta=beta, end=task.end)
    for mine, theirs in zip(found, law(base, valid, beta, end=task.end), strict=True):
        np.testing.assert_allclose(mine[:2], theirs[:2], atol=3e-4)


def test_masking_what_is_cut_off_lets_it_grow():
    task, base, valid = base_of("cut")
    how = {"form": "k2", "beta": 0.3, "end": task.end}
    laws = [sampled_law(sampling, base, valid, **how) for sampling in (SAMPLINGS["masked"], Sampling())]
    cut, masked, plain = (1 - (first[:2] * then[:2, 2]).sum() - first[2] for first, then in (base, *laws))
    assert masked > 0.8 * cut
    assert plain < 0.3 * cut


def test_the_trainer_gets_the_arguments_and_the_rest_by_hand():
    run = Run("samplers", "cut", "k3_corrected", 0.3, sampler="masked")
    assert run.arguments["mask_truncated_completions"] is True
    assert Run("x", "cut", "k2", 0.3, sampler="temperature .7").arguments["temperature"] == 0.7
    added, config = [], SimpleNamespace(temperature=1.0)
    others = {"ref_model": None, "accelerator": None, "add_callback": added.append}
    trainer = SimpleNamespace(generation_config=config, args=SimpleNamespace(), **others)
    SAMPLINGS["drawn at .6"].prepare(trainer, 300)
    assert (config.temperature, added) == (0.6, [])
    SAMPLINGS["five references"].prepare(trainer, 500)
    assert (trainer.args.ref_model_sync_steps, len(added)) == (100, 1)


def test_the_law_under_the_sampler_stands_before_its_rivals():
    run = Run("samplers", "lottery-six", "k2", 0.3, sampler="drawn at .6")
    found = predictions(run, box(run.task), [*box(run.task).base])
    assert found[0].law == "token reverse KL, drawn at .6"
    rates = {each.law: each.exact.validity[0] for each in found}
    assert rates[found[0].law] == pytest.approx(0.8455, abs=0.003)
    assert rates["token reverse KL"] == pytest.approx(0.949, abs=0.003)
