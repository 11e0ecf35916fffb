from types import SimpleNamespace

import numpy as np
import pytest

from dph_theory.laws import law_after_resets, law_at_temperature, law_validity, sequence_law, token_law
from full_scale.laws.predictions import predictions
from full_scale.laws.runs import Run
from full_scale.laws.sampled import SAMPLINGS, Sampling, sampled_law
from full_scale.tasks.glass_box.box import box


def base_of(name):
    task = box(name)
    return task, [table[0] for table in task.base], task.valid[0]


@pytest.mark.parametrize(
    ("name", "form", "law"),
    [("temperature .7", "sequence_kl", sequence_law), ("temperature 1.3", "k2", token_law)],
)
def test_the_law_at_a_temperature_is_that_of_the_theory(name, form, law):
    task, base, valid = base_of("selection-2")
    found = sampled_law(SAMPLINGS[name], base, valid, form=form, beta=0.5, end=task.end)
    temperature = SAMPLINGS[name].temperature
    expected = law_at_temperature(base, valid, 0.5, temperature, law=law, end=task.end)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine[:2], theirs[:2], atol=3e-4)


def test_references_that_follow_have_the_law_of_their_rounds():
    task, base, valid = base_of("selection-2")
    found = sampled_law(
        SAMPLINGS["five references"], base, valid, form="k3_corrected", beta=1.0, end=task.end
    )
    expected = law_after_resets(base, valid, 1.0, 5, law=token_law, end=task.end)
    np.testing.assert_allclose(found[0], expected[0])


def test_masking_what_is_cut_off_lets_it_grow():
    task, base, valid = base_of("cut")
    cut = 1 - (base[0][:2] * base[1][:2, 2]).sum() - base[0][2]
    (masked, plain) = (
        sampled_law(how, base, valid, form="k2", beta=0.3, end=task.end)
        for how in (SAMPLINGS["masked"], Sampling())
    )
    left = [1 - (law[0][:2] * law[1][:2, 2]).sum() - law[0][2] for law in (masked, plain)]
    assert left[0] > 0.8 * cut
    assert left[1] < 0.3 * cut
    assert law_validity(masked, valid, task.end) < law_validity(plain, valid, task.end) - 0.15


def test_the_trainer_gets_the_arguments_and_the_rest_by_hand():
    run = Run("samplers", "cut", "k3_corrected", 0.3, sampler="masked")
    assert run.arguments["mask_truncated_completions"] is True
    assert Run("x", "cut", "k2", 0.3, sampler="temperature .7").arguments["temperature"] == 0.7
    added = []
    trainer = SimpleNamespace(
        generation_config=SimpleNamespace(temperature=1.0),
        args=SimpleNamespace(),
        ref_model=None,
        accelerator=None,
        add_callback=added.append,
    )
    SAMPLINGS["drawn at .6"].prepare(trainer, 300)
    assert (trainer.generation_config.temperature, added) == (0.6, [])
    SAMPLINGS["five references"].prepare(trainer, 500)
    assert (trainer.args.ref_model_sync_steps, len(added)) == (100, 1)


def test_the_law_under_the_sampler_stands_before_its_rivals():
    run = Run("samplers", "lottery-six", "k2", 0.3, sampler="drawn at .6")
    found = predictions(run, box(run.task), [*box(run.task).base])
    assert found[0].law == "token reverse KL, drawn at .6"
    rates = {each.law: each.exact.validity[0] for each in found}
    assert rates[found[0].law] == pytest.approx(0.8455, abs=0.003)
    assert rates["token reverse KL"] == pytest.approx(0.949, abs=0.003)
