"""What cannot be trained is refused before anything is, in words that name it."""

from dataclasses import replace

import pytest
import torch
from support.rule_task import Rule, ruled_recipe, ruled_task, stage_inputs
from support.tiny_llama import tiny_llama
from support.tiny_training import SETTINGS, TRL_WARNS, buffer, even_reward, trainer

from dph_theory.support.errors import RefusedError
from full_scale.models import versions
from full_scale.recipe.schema import MethodConfig
from full_scale.tasks.protocol import WeightedReward
from full_scale.training.arguments import arguments
from full_scale.training.collapse_meter import CollapseMeter
from full_scale.training.online import OnlineConfig
from full_scale.training.train import build_trainer

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


def config(folder, **changes):
    OnlineConfig(output_dir=str(folder), **{**SETTINGS, **changes})


def made(folder, **settings):
    trainer(tiny_llama(folder / "model"), folder, **settings)


def resolved(folder, dtype="float32", **train):
    recipe = ruled_recipe(folder)
    arguments(replace(recipe, train=train, model=replace(recipe.model, dtype=dtype)))


def built(folder, recipe=(), task=(), hashed=None, rows=4, exp=None, method="DPH-F", **changes):
    whole, *given, hashes = stage_inputs(folder, MethodConfig(name=method, **changes), rows=rows, exp=exp)
    for section, values in dict(recipe).items():
        whole = replace(whole, **{section: replace(getattr(whole, section), **values)})
    given[0] = replace(given[0], **dict(task))
    build_trainer(whole, *given, replace(hashes, model=hashed or hashes.model))


def trained(folder, **settings):
    trainer(tiny_llama(folder / "model"), folder, scale_rewards="none", **settings).train()


def metered(folder, rates=(("p0", 0.5),), reward=even_reward, **settings):
    run = trainer(tiny_llama(folder / "model"), folder, reward=reward, max_steps=1)
    CollapseMeter(dict(rates), **settings).attach(run)
    run.train()


def length(completions, **columns):
    return [float(len(text)) for text in completions]


DPG = {"online": "alpha_dpg", "alpha": 0.5}
TWO = [even_reward, length]
WEIGHED = {"rewards": {"length": WeightedReward(Rule(), 0.5)}}
ALIKE = {"train": [replace(example, prompt="p1") for example in ruled_task().train]}


@pytest.mark.parametrize(
    ("call", "changes", "named"),
    [
        (config, {"eta": -0.1}, "eta"),
        (config, {"divergence": "kl"}, "divergence.*forward_kl"),
        (config, {"alpha": 0.2}, "alpha"),
        (config, {"rehearsal_level": "word"}, "rehearsal_level.*token, sequence"),
        (config, {"online": "always"}, "online.*alpha_dpg"),
        (config, {"online": "sequence_kl", "eta": 0.1, "rehearsal_form": "definition"}, "online.*definition"),
        (config, {"generation_rows": 0}, "generation_rows=0"),
        (config, {"sync_ref_model": True, "beta": 0.1}, "sync_ref_model=True.*initial model"),
        (config, {"use_transformers_continuous_batching": True}, "continuous_batching=True.*16-bit"),
        (config, {"baseline": "two"}, "baseline='two'"),
        (config, {"baseline": "one", "scale_rewards": "group"}, "baseline='one'"),
        (config, {"beta_from": 0.5}, "beta_from=0.5"),
        (config, {"online": "sequence_kl", "online_beta": 0.1, "beta_from": 0.01}, "from=0.01"),
        (config, {"rehearsal_form": "definition", "eta": 0.1, "mask_truncated_completions": True},
         "mask_truncated_completions"),
        (made, {"eta": 0.1}, r"rehearsal=None.*eta=0\.1"),
        (made, {"eta": 0.1, "rehearsal": buffer(count=0)}, r"RehearsalBuffer of 0 rows.*eta=0\.1"),
        (made, {"dtype": torch.bfloat16}, r"dtype of .*=torch\.bfloat16.*float32"),
        (resolved, {"beta": 1}, r"train.key='beta'.*method\.beta"),
        (resolved, {"lr": 1}, "train.key='lr'.*GRPOConfig"),
        (resolved, {"learning_rat": 1}, "did you mean 'learning_rate'"),
        (resolved, {"temperature": 1}, r"train key='temperature'.*sampling\.temperature"),
        (resolved, {"generation_kwargs": 1}, "train key='generation_kwargs'.*the keys of sampling"),
        (resolved, {"learning_rate": "fast"}, r"train\.learning_rate='fast'"),
        (resolved, {"dtype": "float16"}, r"model\.dtype='float16'.*scaled"),
        (built, {"exp": []}, "nothing to train, every prompt is solved: run dph presample"),
        (built, {"exp": ["e1"]}, "1 unsolved prompts are fewer than the 2"),
        (built, {"rows": 0}, "nothing to rehearse: no correct rollout of the 2 solved prompts ended"),
        (built, {"recipe": {"sampling": {"temperature": 1.0}}}, r"temperature=0\.9.*1\.0"),
        (built, {"hashed": "other"}, "model_hash='.*other"),
        (built, {"recipe": {"model": {"path": "no/model"}}, "method": "GRPO"}, r"model\.path='no/model'"),
        (built,
         {"task": WEIGHED, "method": "GRPO", "baseline": "one"}, r"weights=.*'length': 0\.5.*baseline"),
        (built, {"task": WEIGHED, "method": "KL-control-sequence", "beta": 0.5}, r"'length': 0\.5.*online"),
        (built,
         {"task": ALIKE, "method": "KL-control-sequence", "mu": 0.6}, r"method\.mu=0\.6.*method\.beta"),
        (trained, DPG, r"base_rates\['p\d'\]=None"),
        (trained, {**DPG, "base_rates": {f"p{i}": 0.0 for i in range(8)}}, r"base_rates\['p\d'\]=0"),
        (metered, {"rates": {"p0": 0.0}}, "base_rates"),
        (metered, {"every": 0}, "every"),
        (metered, {"reward": TWO}, "verdict=None.*'even_reward', 'length'"),
        (metered, {"key": "name"}, "key='name'.*'example_id', 'prompt'"),
    ],
)  # fmt: skip
def test_it_is_named(tmp_path, call, changes, named):
    with pytest.raises((ValueError, RefusedError), match=named):
        call(tmp_path, **changes)


def test_other_versions_are(tmp_path, monkeypatch):
    run = trainer(tiny_llama(tmp_path / "model"), tmp_path)
    monkeypatch.setattr(versions, "_installed", lambda name: "0.9.9")
    for call in (lambda: made(tmp_path), lambda: CollapseMeter({}).attach(run)):
        with pytest.raises(RuntimeError, match=r"found trl 0\.9\.9"):
            call()
