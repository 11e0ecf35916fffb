from dataclasses import replace

import pytest

from dph_theory.stationary import group_weight, policy_divergence, sequence_policy, token_policy
from full_scale.experiments.enumerable_tasks.exact import exact
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama.predictions import (
    ONE_REFERENCE,
    UNERRING,
    UNSCALED,
    predictions,
    stationary_policies,
)
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


def test_trl_subtracts_the_mean_of_the_whole_group_and_errors_weaken_the_reward():
    run = LlamaRun("a", TASK.name, "k3_corrected", 0.5, group_size=4, false_positive=0.2, false_negative=0.1)
    found = stationary_policies(run, TASK, TASK.base)
    for name, weight in ((TOKEN_REVERSE, 3 / 4 * 0.7), (f"{TOKEN_REVERSE}, {UNERRING}", 3 / 4)):
        wanted = token_policy(TASK.base, TASK.valid, 0.5 / weight, end=TASK.end)
        assert policy_divergence(found[name], wanted, end=TASK.end) == pytest.approx([0], abs=1e-12)


def test_normalised_runs_obey_beta_over_the_groups_weight_at_their_own_validity():
    run = LlamaRun("a", TASK.name, "future_kl", 1.0, scale="group", group_size=8)
    found = stationary_policies(run, TASK, TASK.base)
    rate = exact(TASK, found[SEQUENCE], TASK.base).validity[0]
    wanted = sequence_policy(TASK.base, TASK.valid, 1 / group_weight(8, rate), end=TASK.end)
    assert policy_divergence(found[SEQUENCE], wanted, end=TASK.end) == pytest.approx([0], abs=1e-9)
    assert f"{SEQUENCE}, {UNSCALED}" in found


def test_each_round_starts_from_the_policy_of_the_one_before():
    run = LlamaRun("a", TASK.name, "k3_corrected", 1.0, scale="group", group_size=8)
    twice = stationary_policies(replace(run, rounds=2), TASK, TASK.base)
    once = stationary_policies(run, TASK, TASK.base)[TOKEN_REVERSE]
    again = stationary_policies(run, TASK, once)[TOKEN_REVERSE]
    assert policy_divergence(twice[TOKEN_REVERSE], again, end=TASK.end) == pytest.approx([0], abs=1e-12)
    assert policy_divergence(twice[f"{TOKEN_REVERSE}, {ONE_REFERENCE}"], once, end=TASK.end) == pytest.approx(
        [0]
    )


def test_no_policy_is_claimed_without_a_penalty_or_where_rows_share_a_text():
    assert stationary_policies(LlamaRun("a", TASK.name, "none"), TASK, TASK.base) == {}
    shared = enumerable_task("strategies")
    assert stationary_policies(LlamaRun("a", shared.name, "k3", 0.5), shared, shared.base) == {}


@pytest.mark.parametrize(
    ("fields", "target", "validity"),
    [
        ({"form": "alpha_dpg", "alpha": 0.5}, FILTERED, 1.0),
        ({"form": "rehearsal", "beta": 1.0, "rehearsed": "log_u", "reward": False}, FILTERED, 1.0),
        ({"form": "rehearsal", "beta": 1.0, "rehearsed": "k3", "reward": False}, BASE, 0.5),
    ],
    ids=lambda value: str(value),
)
def test_stored_correct_answers_aim_at_mass_one_or_at_the_base(fields, target, validity):
    own, rival = predictions(LlamaRun("targets", TASK.name, **fields), TASK, TASK.base)
    assert {own.name, rival.name} == {FILTERED, BASE}
    assert own.name == target
    assert own.exact.validity == pytest.approx([validity], abs=1e-3)
    assert own.exact.first_share == pytest.approx(rival.exact.first_share) == pytest.approx(0.9, abs=1e-3)
