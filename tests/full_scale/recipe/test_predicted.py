"""A recipe as `dph predict` reads it: what explores, what is rehearsed, and no other file."""

import pytest
from click.testing import CliRunner

from dph_cli import main
from full_scale.recipe.predicted import recipe_run

RECIPES = [
    ("name: DPH-F", ("DPH-F", 0.05, "a pass rate of one"), "none, there is no KL penalty"),
    ("name: DPH-JS, eta: 3", ("DPH-JS", 3.0, "the base as it is"), "none, there is no KL penalty"),
    ("name: DPH-F, gauge: normalised", ("DPH-F", 0.05, "the base as it is"), "none, there is no KL penalty"),
    ("name: GRPO-KL", None, "forward KL per token"),
    ("name: KL-control-sequence, beta: 0.1", None, "reverse KL of the whole answer"),
]
OTHERS = [
    "actor_rollout_ref: {actor: {kl_loss_coef: 0.1}}",
    "method: {name: GRPO}\nnum_generations: 8",
    "learning_rate: 1.0e-6",
    "- a list",
]


def written(folder, text):
    path = folder / "own.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("method", "rehearsal", "kl"), RECIPES)
def test_a_recipe_is_read_with_what_it_rehearses(tmp_path, method, rehearsal, kl):
    run = recipe_run(written(tmp_path, f"extends: tiny-sql.yaml\nmethod: {{{method}}}\n"))
    read = run.objective.rehearsal
    assert (read and (read.method, read.eta, read.target)) == rehearsal
    assert str(run.objective).startswith(kl)
    assert run.objective.group_size == 8


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_recipe_is_left_to_others(tmp_path, text):
    assert recipe_run(written(tmp_path, text)) is None


def test_the_command_names_the_stored_run_and_both_sets_of_prompts(tmp_path):
    path = str(written(tmp_path, "extends: tiny-sql.yaml\nmethod: {name: DPH-F}\n"))
    answer = CliRunner().invoke(main, ["predict", path])
    assert answer.exit_code == 0, answer.output
    words = " ".join(answer.output.split())
    assert "(DPH-F, coefficient 0.05, a small Llama, SQL queries, 640 steps) Pass@32 went from 0.992" in words
    assert "Solved prompts (D_pef) are rehearsed by DPH-F, eta 0.05, towards a pass rate of one" in words
    for changes, stored in (
        (["method.name=GRPO"], "(GRPO without a KL, a small Llama, SQL"),
        (["method.name=DPH-JS", "method.eta=3"], "Your settings differ: DPH-JS at 3."),
        (["method.name=DPH-alpha", "method.eta=0.05"], "(DPH-alpha, coefficient 0.05, SmolLM2-135M"),
    ):
        other = CliRunner().invoke(main, ["predict", path, *changes]).output
        assert stored in " ".join(other.split())
        assert "trained Pass@1" not in other  # TRL's own names of what retained more are no keys of a recipe.
    refused = CliRunner().invoke(main, ["predict", path, "--transfer", "examples/transfer/kernel.npz"])
    assert "forecasts no rehearsal" in refused.output
    wrong = CliRunner().invoke(main, ["predict", path, "method.nam=DPH-F"])
    assert "did you mean 'name'?" in wrong.output
