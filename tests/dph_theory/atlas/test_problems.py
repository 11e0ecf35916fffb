from itertools import combinations

import numpy as np
import pytest

from dph_theory.atlas.problems import (
    CLEAR,
    EQUAL,
    FILTERED,
    LENGTHS,
    LOCAL,
    MEANS,
    NEAR,
    ONE,
    OTHER,
    UNEQUAL,
    UNIFORM,
    distance,
)
from dph_theory.binary_reward import filtered


def test_several_lengths_distinguish_every_policy():
    policies = LENGTHS.candidates
    assert min(distance(one, other) for one, other in combinations(policies.values(), 2)) > CLEAR * NEAR


@pytest.mark.parametrize("problem", [EQUAL, UNEQUAL, LENGTHS], ids=lambda problem: problem.name)
def test_a_policy_is_named_and_half_way_to_another_it_is_not(problem):
    for name, shares in problem.candidates.items():
        policy = problem.policy_name(shares)
        assert distance(problem.candidates[policy], shares) < 1e-9
        if problem is LENGTHS:
            assert policy == name
    one, other = (problem.candidates[name] for name in (LOCAL if problem is LENGTHS else UNIFORM, FILTERED))
    if distance(one, other) > 0:
        assert problem.policy_name((one + other) / 2) == OTHER


def test_a_policy_whose_neighbour_is_nearly_as_near_is_not_named():
    local, means = LENGTHS.candidates[LOCAL], LENGTHS.candidates[MEANS]
    for gap, policy in ((0.9 * NEAR, OTHER), (0.5 * NEAR, LOCAL)):
        assert LENGTHS.policy_name(local + (means - local) * gap / distance(local, means)) == policy


def test_one_answer_is_named_whichever_it_is():
    assert [UNEQUAL.policy_name(np.roll([0.96, 0.02, 0.02], i)) for i in range(3)] == [ONE] * 3
    assert UNEQUAL.policy_name(np.array([0.7, 0.2, 0.1])) == OTHER


def test_the_base_holds_its_proportions_and_answers_add_up():
    for problem in (EQUAL, UNEQUAL):
        proportions = filtered(problem.base[0], problem.valid)[problem.valid]
        assert problem.shares(problem.start) == pytest.approx(proportions)
    assert LENGTHS.answers(LENGTHS.start).sum() == pytest.approx(1)
    # a right answer begins with each word but z: to keep its tokens alone is not to filter whole answers
    assert distance(LENGTHS.candidates[LOCAL], LENGTHS.candidates[FILTERED]) > 0.2
