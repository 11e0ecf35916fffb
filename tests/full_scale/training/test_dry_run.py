from dataclasses import replace

import pytest
from support.rule_task import loaded, ruled_recipe, ruled_task

import full_scale.tasks.loaders
from full_scale.presampling.stage import presample
from full_scale.recipe.schema import RECIPES, load_recipe
from full_scale.training.dry_run import Launch, dry_run


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    train = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "num_generations": 2}
    return ruled_recipe(tmp_path_factory.mktemp("estimate"), train=train | {"num_train_epochs": 5})


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setattr(full_scale.tasks.loaders, "load_task", lambda config: ruled_task())


def test_steps_of_the_whole_training_set(recipe, task):
    found = dry_run(recipe)
    # 12 rollouts a step are 6 prompts; of 8 prompts TRL drops the 2 that fill no batch; 5 epochs.
    assert (found.steps.rollouts_per_step, found.steps.prompts_per_generation) == (12, 6)
    assert (found.steps.prompts, found.steps.steps, found.steps.rollouts) == (8, 5, 60)
    assert found.shape.parameters > 0
    assert found.memory["train"].weights == 4 * found.shape.parameters
    assert found.memory["evaluate"].weights == 2 * found.memory["presample"].weights
    assert [entry.split()[1] for entry in found.missing] == ["pre-sampling"]


def test_after_the_pre_sampling_nothing_is_missing(recipe, task, tmp_path):
    here = replace(recipe, output=str(tmp_path), train={**recipe.train, "gradient_accumulation_steps": 1})
    sampled = presample(here, ruled_task(), loaded(here.model.path))
    found = dry_run(here)
    assert found.missing == ()
    assert found.steps.prompts == len(sampled.exp)
    assert dry_run(here, Launch(2)).steps.rollouts_per_step == 8


def test_everything_missing_is_listed(tmp_path):
    found = dry_run(load_recipe("llama3.1-8b-bird-dph-f-vllm", [f"output={tmp_path}"]), Launch(8))
    missing = "\n".join(found.missing)
    for what in ("pre-sampling", "task's data", "model's configuration", "vllm"):
        assert what in missing
    assert found.memory == {}
    assert (found.steps.prompts, found.steps.steps, found.steps.rollouts) == (None, None, None)
    assert found.steps.rollouts_per_step == 64 * 16
    assert (found.steps.prompts_per_generation, found.steps.steps_per_generation) == (128, 2)
    assert found.steps.rehearsal_rows == 512


def test_a_target_validity_waits_for_the_base_rates(tmp_path):
    found = dry_run(load_recipe("llama3.1-8b-bird-kl-control", [f"output={tmp_path}"]))
    assert any("beta" in entry for entry in found.missing)


def test_what_is_wrong_is_no_missing_piece(recipe, task):
    with pytest.raises(ValueError, match="learning_rate"):
        dry_run(replace(recipe, train={"learning_rat": 1}))


def test_a_generated_batch_may_be_given_in_micro_batches(recipe, task):
    found = dry_run(replace(recipe, train={**recipe.train, "steps_per_generation": 6}), Launch(2))
    # 6 x 4 rows on each of 2 devices: 48 rollouts of 24 prompts, cut into 2 steps of 24.
    assert (found.steps.prompts_per_generation, found.steps.steps_per_generation) == (24, 2)


@pytest.mark.parametrize(
    ("change", "world", "named"),
    [
        ({"generation_batch_size": 24}, 4, "=24 .*multiple of the 16 rows"),
        ({"num_generations": 5}, 1, "=12 .*multiple of the 5 generations"),
    ],
)
def test_a_batch_that_cannot_be_cut_is_refused(recipe, task, change, world, named):
    with pytest.raises(ValueError, match=named):
        dry_run(replace(recipe, train={**recipe.train, **change}), Launch(world))


def test_what_the_pre_sampling_lacks_is_missing(recipe, task, tmp_path):
    here = replace(recipe, output=str(tmp_path))
    sampled = presample(here, ruled_task(), loaded(here.model.path))
    too_many = {**here.train, "gradient_accumulation_steps": len(sampled.exp)}
    (few,) = dry_run(replace(here, train=too_many)).missing
    assert few.startswith(f"D_exp={len(sampled.exp)} ")
    warmer = replace(here, sampling=replace(here.sampling, temperature=0.3))
    (other,) = dry_run(warmer).missing
    assert other.startswith("the pre-sampling (sampling.temperature=0.3")


def test_a_launch_file_tells_processes_sharding_and_what_it_needs(tmp_path):
    fsdp, deepspeed = (RECIPES / "launch" / f"{name}.yaml" for name in ("fsdp2", "deepspeed-zero3"))
    assert Launch.read(fsdp) == Launch(8, True)
    assert Launch.read(deepspeed) == Launch(8, True, "deepspeed")
    found = dry_run(
        load_recipe("llama3.1-8b-bird-dph-f-paper", [f"output={tmp_path}"]), Launch(8, True, "no_such")
    )
    assert any("package no_such" in entry for entry in found.missing)
    other = tmp_path / "other.yaml"
    other.write_text("[1]")
    with pytest.raises(ValueError, match="distributed_type"):
        Launch.read(other)
