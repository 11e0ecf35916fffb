import pytest
import torch

from dph_theory.audit.problems import SHAPES, random_problems

PROBLEMS = random_problems(0)
every = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)


@every
def test_every_sequence_is_enumerated_once_with_a_proper_law(problem):
    assert len(problem.token) == problem.vocabulary**problem.length
    assert len({tuple(row) for row in problem.token.tolist()}) == len(problem.token)
    for source in ("policy", "old_policy", "reference", "filtered"):
        assert float(problem.samples(source).sum()) == pytest.approx(1, abs=1e-12)


@every
def test_filtered_samples_are_the_correct_ones_of_the_reference(problem):
    filtered, reference = problem.samples("filtered"), problem.samples("reference")
    assert torch.equal(filtered > 0, problem.valid > 0)
    ratio = (filtered / reference)[problem.valid > 0]
    assert float(ratio.max() / ratio.min()) == pytest.approx(1, rel=1e-12)


@every
def test_prefix_visits_add_up_to_the_length(problem):
    visits = problem.prefix_law(problem.samples("policy"))
    assert float(visits[0]) == pytest.approx(1)
    assert float(visits.sum()) == pytest.approx(problem.length)


@every
def test_there_is_something_to_lose_within_the_valid_set(problem):
    assert problem.valid.sum() >= 2
    assert problem.valid.min() == 0


def test_shapes_and_determinism():
    assert [(p.vocabulary, p.length) for p in PROBLEMS] == list(SHAPES)
    assert torch.equal(random_problems(3)[2].policy, random_problems(3)[2].policy)
    assert not torch.equal(random_problems(3)[2].policy, random_problems(4)[2].policy)
