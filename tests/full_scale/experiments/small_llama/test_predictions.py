import pytest

from dph_theory.stationary import policy_divergence, token_policy
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama.predictions import predictions, stationary_policies
from full_scale.experiments.small_llama.runs import (
    BASE,
    FILTERED,
    SEQUENCE,
    TOKEN_FORWARD,
    TOKEN_REVERSE,
    LlamaRun,
)

TASK = enumerable_task("selection-2")


@pytest.mark.parametrize(
    ("form", "policy", "share"),
    [
        ("k3", TOKEN_FORWARD, 0.711835027064),
        ("k3_corrected", TOKEN_REVERSE, 0.584252939844),
        ("k2", TOKEN_REVERSE, 0.584252939844),
        ("sequence_kl", SEQUENCE, 0.9),
        ("future_kl", SEQUENCE, 0.9),
    ],
)
def test_the_forms_policy_comes_first_and_its_rivals_after(form, policy, share):
    """The share of the first answer among the right ones, as `token_penalties` has it."""
    first, *rivals = predictions(LlamaRun("a", TASK.name, form, 0.2, group_size=10_000), TASK, TASK.base)
    assert first.name == policy
    assert first.exact.first_share == pytest.approx(share, abs=1e-3)
    assert {policy, *(rival.name for rival in rivals)} == {SEQUENCE, TOKEN_REVERSE, TOKEN_FORWARD}


def test_trl_subtracts_the_mean_of_the_whole_group():
    run = LlamaRun("a", TASK.name, "k3_corrected", 0.5, group_size=4)
    found = stationary_policies(run, TASK, TASK.base)
    wanted = token_policy(TASK.base, TASK.valid, 0.5 / (3 / 4), end=TASK.end)
    assert policy_divergence(found[TOKEN_REVERSE], wanted, end=TASK.end) == pytest.approx([0], abs=1e-12)


def test_no_policy_is_claimed_without_a_penalty_of_normalised_rewards_or_where_rows_share_a_text():
    scaled = LlamaRun("a", TASK.name, "k3", 0.5, scale="group", group_size=8)
    assert stationary_policies(scaled, TASK, TASK.base) == {}
    assert stationary_policies(LlamaRun("a", TASK.name, "none"), TASK, TASK.base) == {}
    shared = enumerable_task("strategies")
    assert stationary_policies(LlamaRun("a", shared.name, "k3", 0.5), shared, shared.base) == {}


def test_alpha_dpg_aims_at_mass_one():
    own, rival = predictions(LlamaRun("a", TASK.name, "alpha_dpg", alpha=0.5), TASK, TASK.base)
    assert (own.name, rival.name) == (FILTERED, BASE)
    assert own.exact.pass_rate == pytest.approx([1.0], abs=1e-3)
    assert own.exact.first_share == pytest.approx(rival.exact.first_share) == pytest.approx(0.9, abs=1e-3)
