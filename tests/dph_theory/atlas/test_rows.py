import numpy as np
import pytest

from dph_theory.atlas import published_methods as methods
from dph_theory.atlas.problems import UNEQUAL, decision
from dph_theory.atlas.published_methods import PUBLISHED_METHODS, PublishedMethod
from dph_theory.atlas.rows import LOST, recovery, row_of
from dph_theory.atlas.training import flow
from dph_theory.atlas.updates import of_rewards
from dph_theory.audit.advantage import AdvantageError

BY_NAME = {method.name: method for method in PUBLISHED_METHODS}


def test_every_method_says_where_it_was_read():
    assert len({method.name for method in PUBLISHED_METHODS}) == len(PUBLISHED_METHODS) >= 20
    for method in PUBLISHED_METHODS:
        assert method.source
        assert method.note
        assert method.read in (methods.STANDARD, methods.CATALOGUE, methods.CODE, methods.SUMMARY)


def test_recovery_has_the_power_of_its_gradient():
    # On-policy the gradient is eps log(1/eps), of alpha-DPG eps^(1-alpha), rehearsed what is lacking (E7).
    share = np.log(np.log(1 / LOST[0]) / np.log(1 / LOST[1])) / np.log(LOST[0] / LOST[1])
    for name, knob, words, power, tolerance in (
        ("KL in the reward", 0.1, "slow, if drawn", 1 + share, 1e-3),
        ("alpha-DPG", 0.0, "between, if drawn", 0.5, 0.02),
        ("KL-DPG", 0.0, "quick, if drawn", 0, 1e-3),
        ("DPH-F, solved prompts", 0.1, "quick, undrawn", 0, 1e-3),
        # Of rehearsed divergences only the forward KL raises what has no mass: alpha's slope is u^(1-alpha).
        ("DPH-alpha, solved prompts", 0.1, "slow, undrawn", 0.8, 0.05),
    ):
        assert recovery(BY_NAME[name], knob) == (words, pytest.approx(power, abs=tolerance)), name
    assert recovery(BY_NAME["DPH-JS, solved prompts"], 0.1)[0] == "slow, undrawn"
    assert recovery(BY_NAME["GRPO"], 0.0) == ("none", None)


def test_a_row_of_what_is_known():
    row = row_of(BY_NAME["alpha-DPG"])
    assert (row.selects, row.selects_single, row.fixed) == (*["base's proportions"] * 2, True)
    assert (row.rare, row.long) == (pytest.approx(1, abs=0.01), pytest.approx(1, abs=0.01))
    assert row.wrong < 1e-4
    assert row.drift == pytest.approx(0.3956, abs=0.02)


@pytest.mark.parametrize(("divergence", "pass_rate"), [("F", 1.0), ("JS", 0.8), ("alpha", 0.8)])
def test_dph_takes_a_solved_prompt_to_a_pass_rate_of_one_by_the_forward_kl_alone(divergence, pass_rate):
    method, solved = BY_NAME[f"DPH-{divergence}, solved prompts"], decision("solved", (0.5, 0.3), (0.2,))
    end = flow(method, solved, 0.0, start=solved.start + np.array([0.3, -0.2, 0.5]))[1]
    assert float(solved.validity(end)) == pytest.approx(pass_rate, abs=1e-3)
    assert solved.shares(end) == pytest.approx(np.array([0.625, 0.375]), abs=1e-3)


def test_a_row_at_the_base_itself_is_named_so():
    row = row_of(BY_NAME["DPH-JS, solved prompts"])
    assert (row.selects, row.selects_single) == ("base itself, at its pass rate",) * 2
    assert (row.wrong, row.drift) == (pytest.approx(1, abs=1e-3), None)
    assert row_of(BY_NAME["DPH, explored prompts"]).selects == "one answer"


def test_replay_of_found_answers_forgets_the_base_and_brings_back_what_is_nearly_lost():
    assert selected(BY_NAME["replay of found answers"], 0.02) == "uniform"
    assert recovery(BY_NAME["replay of found answers"], 0.1) == ("quick, undrawn", pytest.approx(0, abs=1e-3))


def selected(method, knob):
    return UNEQUAL.policy_name(UNEQUAL.shares(flow(method, UNEQUAL, knob)[1]))


def test_the_place_of_uniqueness_weights_decides():
    assert selected(BY_NAME["uniqueness"], 0.02) == "one answer"
    assert selected(BY_NAME["uniqueness, in the reward"], 0.02) == "uniform"


def _own(function):
    return PublishedMethod("own", "mine.py", "", of_rewards(function))


def test_a_method_of_ones_own_is_its_table_or_is_called_with_what_it_asks_for():
    shapes = []

    def towards_the_base(rewards, log_pi, log_ref):
        shapes.append(tuple(rewards.shape))
        penalised = rewards - 0.1 * (log_pi - log_ref)
        return penalised - penalised.mean(dim=-1, keepdim=True)

    assert selected(_own(towards_the_base), 0.0) == "base's proportions"
    assert all(shape[1] == 4 for shape in shapes)
    assert selected(_own(lambda rewards: rewards - 0.5), 0.0) == "one answer"


def test_what_a_method_of_ones_own_does_wrong_is_said():
    with pytest.raises(AdvantageError, match="ZeroDivisionError"):
        row_of(_own(lambda rewards, log_pi: 1 / 0))
    with pytest.raises(AdvantageError, match="it returned"):
        row_of(_own(lambda rewards, log_pi: rewards.sum()))
    with pytest.raises(AdvantageError, match="not finite in groups with 0, 4 right"):
        row_of(_own(lambda rewards: (rewards - rewards.mean()) / rewards.std()))
    with pytest.raises(AdvantageError, match="a number that is not finite"):
        row_of(_own(lambda rewards, log_pi: log_pi / 0))
