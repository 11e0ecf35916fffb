"""Every packaged recipe loads, names fields that exist, and holds the published numbers."""

import dataclasses

import numpy as np
import pytest
import yaml
from accelerate.commands.config.config_args import ClusterConfig
from trl import GRPOConfig

from dph_theory import mu_from_beta
from full_scale.recipe.law import RELEASED
from full_scale.recipe.methods import METHODS, setup
from full_scale.recipe.schema import RECIPES, load_recipe, recipe_names
from full_scale.training.arguments import arguments
from full_scale.training.config import DPHConfig
from full_scale.training.dry_run import dry_run
from full_scale.training.launch import Launch

FIELDS = {field.name for field in dataclasses.fields(GRPOConfig)}
NAMES = recipe_names()
RELEASE = [name for name in NAMES if name.endswith("-release")]
PAPER = [name for name in NAMES if name.endswith("-paper")]
SCRIPTS = ("grpo", "dapo", "rkl", "dph-f", "dph-js", "dph-alpha")
"""What the authors released a script of."""
METHODS_ASKED = (*SCRIPTS, "alpha-dpg")
BIRD = "llama3.1-8b-bird"
FAMILIES = ("tiny-sql", BIRD, "qwen2.5-math-7b")
ETAS = {"DPH-F": (0.01, 0.05), "DPH-alpha": (0.01, 0.05), "DPH-JS": (0.05, 0.2)}


def named(family, method):
    """The recipe of a method; on BIRD those that were published are the paper's or the release's."""
    return f"{family}-{method}" + ("-paper" if family == BIRD and method in SCRIPTS else "")


def test_every_family_has_every_method():
    assert {named(family, method) for family in FAMILIES for method in METHODS_ASKED} <= set(NAMES)
    assert {"tiny-sql-kl-control", "llama3.1-8b-bird-kl-control"} <= set(NAMES)


@pytest.mark.parametrize("family", ["tiny-sql", BIRD])
def test_what_theory_g_adds_differs_from_its_family_by_its_method_alone(family, tmp_path):
    plain, control = load_recipe(named(family, "grpo")), load_recipe(f"{family}-kl-control")
    one, annealed = (load_recipe(f"{family}-{name}") for name in ("grpo-one", "kl-control-annealed"))
    for recipe, other in ((one, plain), (annealed, control)):
        found, before = recipe.as_dict(), other.as_dict()
        assert {key for key in before if found[key] != before[key]} == {"name", "method"}
    machine = {"use_cpu": True, "bf16": False, "output_dir": str(tmp_path)}
    built = DPHConfig(**dict(arguments(one).arguments) | machine)
    assert (built.baseline, built.scale_rewards) == ("one", "none")
    built = DPHConfig(**dict(arguments(annealed).arguments) | machine)
    assert built.online_from > built.online_coefficient > 0
    assert built.excess_bound == 0.1
    unset = DPHConfig(**dict(arguments(plain).arguments) | machine)
    assert (unset.baseline, unset.online_from, unset.excess_bound) == ("mean", None, None)


def test_paper_and_release_stand_side_by_side():
    assert sorted(RELEASE) == sorted(f"{BIRD}-{script}-release" for script in SCRIPTS)
    assert sorted(PAPER) == sorted(f"{BIRD}-{script}-paper" for script in SCRIPTS)


@pytest.mark.parametrize("name", [f"_{BIRD}", f"_{BIRD}-release", *PAPER, *RELEASE])
def test_every_value_has_its_source_beside_it(name):
    """On its line, or above it."""
    above = False
    for line in (RECIPES / f"{name}.yaml").read_text().splitlines():
        value, beside, _ = (part.strip() for part in line.partition("#"))
        if not value:
            above = True
        elif not value.endswith(":") and value.split(":")[0] not in ("extends", "name", "output"):
            assert beside or above, line
            above = False


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_loads_and_is_named_as_its_file(name):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.method.name in METHODS
    assert set(recipe.train) <= FIELDS | {"collapse_every"}
    if recipe.method.mu is None:
        found = arguments(recipe).arguments
        assert found["learning_rate"] == recipe.train["learning_rate"]
        assert found["generation_batch_size"] % found["num_generations"] == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RELEASE])
def test_the_coefficient_is_in_the_published_range(name):
    method = load_recipe(name).method
    if method.name in ETAS:
        low, high = ETAS[method.name]
        assert low <= setup(method).arguments["eta"] <= high
    if method.name == "DPH-alpha":
        assert method.alpha == 0.2


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in RELEASE and not name.startswith("tiny-sql")]
)
def test_the_published_settings(name):
    recipe, train = load_recipe(name), load_recipe(name).train
    assert train["learning_rate"] == 1e-6
    assert train["num_generations"] == 16
    assert train["generation_batch_size"] == 128 * 16
    assert train["per_device_train_batch_size"] * 8 * train["gradient_accumulation_steps"] == 64 * 16
    assert train["num_train_epochs"] == 5
    assert recipe.method.rehearsal_rows == 512
    assert (recipe.presample.k, recipe.presample.threshold, recipe.presample.fresh) == (8, 8, True)
    found = setup(recipe.method, [0.25, 0.5]).arguments
    assert found["epsilon_high"] == (0.2 if recipe.method.name == "GRPO" else 0.28)
    assert recipe.sampling.max_new_tokens == (4096 if name.startswith("llama") else 3072)
    assert recipe.model.dtype == "bfloat16"


@pytest.mark.parametrize("name", NAMES)
def test_the_collapse_meter_is_on(name):
    assert load_recipe(name).train["collapse_every"] >= 1


@pytest.mark.parametrize(
    ("family", "tasks"),
    [("llama3.1-8b-bird", (None, "spider", "maths")), ("qwen2.5-math-7b", ("maths", "maths", "bird"))],
)
def test_evaluation_sets_name_their_task(family, tasks):
    """Else a set would inherit, by the merging of mappings, the task of the other family's."""
    sets = load_recipe(named(family, "grpo")).task.options["evaluation"]
    assert tuple(sets[f"{where}_domain"].get("task") for where in ("in", "cross", "out_of")) == tasks


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("kl-control")])
def test_kl_control_resolves_its_beta_from_base_rates(name):
    """A target mu gives beta of theory A9: the mean of sigma(logit A1 + 1/beta) is mu; else beta is given."""
    method = load_recipe(name).method
    rates = [0.25, 0.5, 0.375]
    beta = setup(method, rates).arguments["online_coefficient"]
    if method.mu is None:
        assert beta == method.beta > 0
    else:
        assert np.mean(mu_from_beta(rates, beta)) == pytest.approx(method.mu, abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_recipe_differs_from_its_family_by_its_name_and_method_alone(family):
    plain = load_recipe(named(family, "grpo")).as_dict()
    for method in METHODS_ASKED:
        other = load_recipe(named(family, method)).as_dict()
        assert {key for key in plain if plain[key] != other[key]} <= {"name", "method"}


def test_the_vllm_variant_differs_by_its_sampler_alone():
    plain, other = (load_recipe(f"llama3.1-8b-bird-dph-f{end}").as_dict() for end in ("-paper", "-vllm"))
    assert other["sampling"]["backend"] == "vllm"
    assert {key for key in plain if plain[key] != other[key]} == {"name", "sampling", "train"}


@pytest.mark.parametrize("path", sorted((RECIPES / "launch").glob("*.yaml")), ids=lambda path: path.stem)
def test_launch_files_are_ones_that_accelerate_reads(path):
    stored = yaml.safe_load(path.read_text())
    found = ClusterConfig.from_yaml_file(str(path))
    assert found.num_processes == 8
    assert str(found.distributed_type).rpartition(".")[2] == stored["distributed_type"]
    assert found.mixed_precision == "bf16"


def test_both_launches_are_there():
    assert {path.stem for path in (RECIPES / "launch").glob("*.yaml")} == {"fsdp2", "deepspeed-zero3"}


@pytest.mark.parametrize("name", RELEASE)
def test_a_release_recipe_does_what_the_script_does(name):
    recipe = load_recipe(name)
    found = arguments(recipe).arguments
    rehearses = "dph" in name
    assert recipe.sampling.top_p == 0.9
    assert (recipe.presample.k, recipe.presample.threshold) == (4, 4)
    assert (found["loss_type"], found["delta"]) == ("bnpo", 3.0)
    assert recipe.method.prompts == ("explored" if rehearses else "all")
    assert recipe.train["num_train_epochs"] == (5 if rehearses else 30)
    assert found["epsilon_high"] == (0.2 if "grpo" in name else 0.28)
    assert found["beta"] == (0.01 if "dapo" in name or "rkl" in name else 0)
    if rehearses:
        # .01 times the share of a generated batch's rows that are stored samples, over that of the rollouts.
        assert found["eta"] == 0.01 * 256 / 2048
        assert found["rehearsal_rows"] == 256 / 2
        assert found["rehearsal_form"] in RELEASED


@pytest.mark.parametrize("name", [*PAPER, *RELEASE])
def test_dry_runs_of_paper_and_release(name, tmp_path):
    found = dry_run(load_recipe(name, [f"output={tmp_path}"]), Launch(8))
    assert (found.steps.rollouts_per_step, found.steps.prompts_per_generation) == (1024, 128)
    assert found.steps.rehearsal_rows == ("dph" in name) * (128 if "release" in name else 512)
