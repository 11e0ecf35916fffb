from dataclasses import replace

import pytest

from dph_theory.stationary import group_weight, policy_divergence, sequence_policy, token_policy
from full_scale.experiments.enumerable_tasks.box import box
from full_scale.experiments.enumerable_tasks.exact import exact
from full_scale.experiments.small_llama.predictions import KEPT, UNERRING, UNSCALED, laws_of, predictions
from full_scale.experiments.small_llama.runs import (
    BASE,
    FILTERED,
    SEQUENCE,
    TOKEN_FORWARD,
    TOKEN_REVERSE,
    Run,
)

TASK = box("selection-2")


@pytest.mark.parametrize(
    ("form", "law", "share"),
    [
        ("k3", TOKEN_FORWARD, 0.711835027064),
        ("k3_corrected", TOKEN_REVERSE, 0.584252939844),
        ("k2", TOKEN_REVERSE, 0.584252939844),
        ("sequence_kl", SEQUENCE, 0.9),
        ("future_kl", SEQUENCE, 0.9),
    ],
)
def test_the_forms_law_comes_first_and_its_rivals_after(form, law, share):
    """The share of the first answer among the right ones, as theory E3 has it."""
    first, *rivals = predictions(Run("a", TASK.name, form, 0.2, group_size=10_000), TASK, TASK.base)
    assert first.law == law
    assert first.exact.first_share == pytest.approx(share, abs=1e-3)
    assert {law, *(rival.law for rival in rivals)} == {SEQUENCE, TOKEN_REVERSE, TOKEN_FORWARD}


def test_trl_subtracts_the_mean_of_the_whole_group_and_errors_weaken_the_reward():
    run = Run("a", TASK.name, "k3_corrected", 0.5, group_size=4, false_positive=0.2, false_negative=0.1)
    found = laws_of(run, TASK, TASK.base)
    for name, weight in ((TOKEN_REVERSE, 3 / 4 * 0.7), (f"{TOKEN_REVERSE}, {UNERRING}", 3 / 4)):
        wanted = token_policy(TASK.base, TASK.valid, 0.5 / weight, end=TASK.end)
        assert policy_divergence(found[name], wanted, end=TASK.end) == pytest.approx([0], abs=1e-12)


def test_normalised_runs_obey_beta_over_the_groups_weight_at_their_own_validity():
    run = Run("a", TASK.name, "future_kl", 1.0, scale="group", group_size=8)
    found = laws_of(run, TASK, TASK.base)
    rate = exact(TASK, found[SEQUENCE], TASK.base).validity[0]
    wanted = sequence_policy(TASK.base, TASK.valid, 1 / group_weight(8, rate), end=TASK.end)
    assert policy_divergence(found[SEQUENCE], wanted, end=TASK.end) == pytest.approx([0], abs=1e-9)
    assert f"{SEQUENCE}, {UNSCALED}" in found


def test_each_round_starts_from_the_law_of_the_one_before():
    run = Run("a", TASK.name, "k3_corrected", 1.0, scale="group", group_size=8)
    twice = laws_of(replace(run, rounds=2), TASK, TASK.base)
    once = laws_of(run, TASK, TASK.base)[TOKEN_REVERSE]
    again = laws_of(run, TASK, once)[TOKEN_REVERSE]
    assert policy_divergence(twice[TOKEN_REVERSE], again, end=TASK.end) == pytest.approx([0], abs=1e-12)
    assert policy_divergence(twice[f"{TOKEN_REVERSE}, {KEPT}"], once, end=TASK.end) == pytest.approx([0])


def test_no_law_is_claimed_without_a_penalty_or_where_rows_share_a_text():
    assert laws_of(Run("a", TASK.name, "none"), TASK, TASK.base) == {}
    shared = box("strategies")
    assert laws_of(Run("a", shared.name, "k3", 0.5), shared, shared.base) == {}


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
    own, rival = predictions(Run("targets", TASK.name, **fields), TASK, TASK.base)
    assert {own.law, rival.law} == {FILTERED, BASE}
    assert own.law == target
    assert own.exact.validity == pytest.approx([validity], abs=1e-3)
    assert own.exact.first_share == pytest.approx(rival.exact.first_share) == pytest.approx(0.9, abs=1e-3)
