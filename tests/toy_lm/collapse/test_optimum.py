import itertools

import numpy as np
import pytest
import torch

from toy_lm.collapse.family import Bigrams
from toy_lm.collapse.measure import measure
from toy_lm.collapse.optimum import (
    ENOUGH,
    best_dirac,
    confirmed_minimum,
    global_minimum,
    projected,
    starting_points,
)
from toy_lm.collapse.problem import CollapseProblem, reference
from toy_lm.engine.builders import from_predicate


@pytest.fixture(scope="module")
def problem():
    return reference()


def fit(problem, objective, *parameters, homogeneous=True):
    """The global minima of an objective, one for each parameter, and their measures."""
    count = len(parameters[0]) if parameters else 1
    family, rows = problem.family(homogeneous=homogeneous), np.zeros(count, dtype=int)
    points = starting_points(problem, family, 2, np.random.default_rng(0))[rows]
    given = (problem.rows(family)[rows], *map(torch.tensor, parameters))
    found = global_minimum(objective(family), family, points, best_dirac(problem, family)[rows], *given)
    return found, measure(problem, family, found.theta, rows)


def fit_reverse_kl(problem, *strengths, homogeneous=True):
    return fit(problem, problem.reverse_kl, np.array(strengths), homogeneous=homogeneous)


def test_reverse_kl_jumps_to_a_dirac_in_the_homogeneous_family(problem):
    found, lines = fit_reverse_kl(problem, 0.5, 4.0, 5.0, 10.0)
    assert [line["collapsed"] for line in lines] == [False, False, True, True]
    assert lines[0]["pass_rate"] < lines[1]["pass_rate"] == pytest.approx(0.0900, abs=5e-5)
    assert [line["top"] for line in lines[2:]] == pytest.approx([0.946, 0.9997], abs=5e-4)
    assert {line["top_word"] for line in lines} == {"()()()()"}
    assert (found.agree >= found.starts - 3).all()
    assert (found.unconverged == 0).all()
    assert (found.curvature > 0.4).all()
    assert (found.gradient_norm < 1e-6).all()
    assert not found.boundary.any()
    assert (found.value < found.dirac).all()
    # At lambda = 4 the collapsed policy is a second minimum, above the first.
    assert found.gap[1].item() == pytest.approx(0.12729, abs=1e-5)
    # No point of a grid over the family is better.
    family = problem.family(homogeneous=True)
    odds = np.append(np.linspace(-12, 12, 25), np.linspace(3, 7, 9))
    theta = torch.zeros(len(odds) ** 3, 6, dtype=torch.float64)
    theta[:, ::2] = torch.from_numpy(np.array(list(itertools.product(odds, repeat=3))))
    base = problem.rows(family).expand(len(theta), -1, -1)
    least = problem.reverse_kl(family)(theta, base, torch.full((len(theta),), 5.0).double()).min().item()
    assert found.value[2].item() < least < found.value[2].item() + 0.05


@pytest.mark.parametrize(("alpha", "pass_rate"), [(0.9, 0.3065), (0.75, 0.372), (0.5, 1), (0.1, 1)])
def test_alpha_jumps_to_the_dirac_which_no_policy_attains(problem, alpha, pass_rate):
    found, (line,) = fit(problem, lambda family: problem.alpha(family, alpha))
    assert line["pass_rate"] == pytest.approx(pass_rate, abs=5e-4)
    assert found.boundary.item() == (line["top"] == 1) == (pass_rate == 1)
    if found.boundary:
        top = problem.targets.max()
        assert found.value.item() == found.dirac.item()
        assert found.value.item() == pytest.approx((1 - top**alpha) / (alpha * (1 - alpha)))
    else:
        assert found.value < found.dirac


FAMILY = Bigrams(2, 8, homogeneous=True)
FAR = torch.full((1, FAMILY.size), 9.0).double()


def two_wells(theta):
    """Minima where the first row's log-odds are near -1 and 1, the left one lower; the others at 0."""
    x = theta[:, 0] - theta[:, 1]
    rest = theta[:, 2::2] - theta[:, 3::2]
    return (x**2 - 1) ** 2 + 0.1 * x + rest.square().sum(-1)


def at(*odds):
    """Starts where the first row has these log-odds."""
    starts = torch.zeros(1, len(odds), FAMILY.size, dtype=torch.float64)
    starts[0, :, 0] = torch.tensor(odds)
    return starts


def search(*odds):
    return global_minimum(two_wells, FAMILY, at(*odds), FAR)


def test_a_planted_second_minimum_is_found_its_gap_measured_and_searches_are_joined():
    left, right = search(-2.0, -1.0, -0.5), search(0.5, 0.8, 1.0, 2.0)
    both = search(-2.0, -1.0, -0.5, 0.5, 0.8, 1.0, 2.0)
    roots = (min(np.roots([4, 0, -4, 0.1]), key=lambda root: abs(root - near)) for near in (-1, 1))
    low, high = ((x**2 - 1) ** 2 + 0.1 * x for x in roots)
    # From the right alone the lower one is missed, and nothing betrays it: a certificate is no proof.
    assert (right.agree.item(), right.gap.item()) == (4, np.inf)
    assert right.value.item() == pytest.approx(high, abs=1e-10)
    for found in (both, left.joined(right), right.joined(left)):
        assert (found.agree.item(), found.starts.item()) == (3, 7)
        assert found.value.item() == pytest.approx(low, abs=1e-10)
        assert found.gap.item() == pytest.approx(high - low, abs=1e-9)
        torch.testing.assert_close(found.theta[:, :2].diff(), left.theta[:, :2].diff())
    twice = both.joined(left)
    assert (twice.agree.item(), twice.starts.item()) == (6, 10)
    assert twice.gap.item() == pytest.approx(high - low)
    assert both.certificates()[0]["agree"] == 3


def test_a_minimum_met_too_rarely_is_searched_for_again():
    def confirmed(rounds, *odds):
        calls = []
        found = confirmed_minimum(
            two_wells,
            FAMILY,
            at(*odds),
            FAR,
            fresh=lambda: calls.append(1) or at(-1.0, 1.5)[0],
            rounds=rounds,
        )
        return found, len(calls)

    # From the right alone, twice: too few, and the fresh starts find the lower one.
    found, rounds = confirmed(9, 1.0, 2.0)
    assert rounds == ENOUGH
    assert (found.agree.item(), found.starts.item()) == (ENOUGH, 2 + 2 * ENOUGH)
    assert found.value < search(1.0).value - 0.1
    assert confirmed(1, 1.0, 2.0)[0].agree.item() == 1
    # From the right alone, three times: enough, and the lower one is missed.
    found, rounds = confirmed(9, 0.5, 1.0, 2.0)
    assert (rounds, found.gap.item()) == (0, np.inf)


def test_fresh_starts_that_lead_nowhere_change_nothing_but_the_count():
    def falling(theta):
        x = theta[:, 0] - theta[:, 1]
        return torch.where(x > 0, x**2 - 3 * x, -(x.abs() ** 3)) + theta[:, 2:].square().sum(-1)

    found = confirmed_minimum(falling, FAMILY, at(1.0), FAR, fresh=lambda: at(-40.0, -50.0)[0], rounds=1)
    assert (found.value.item(), found.gap.item()) == (pytest.approx(-9 / 4), np.inf)
    assert (found.agree.item(), found.starts.item(), found.unconverged.item()) == (1, 3, 2)
    with pytest.raises(ValueError, match="from none of them was a minimum reached"):
        confirmed_minimum(lambda t: (t[:, 1] - t[:, 0] - 1) ** 3, FAMILY, at(0.0), FAR, fresh=list, rounds=1)


@pytest.mark.parametrize(
    ("homogeneous", "coverage", "pass_rate"), [(True, 0.888, 0.283), (False, 0.906, 0.831)]
)
def test_the_m_projection_minimises_the_forward_kl(problem, homogeneous, coverage, pass_rate):
    family = problem.family(homogeneous=homogeneous)
    rows, words = projected(problem, family), torch.from_numpy(problem.valid_words)
    target = torch.from_numpy(problem.targets[0])
    (line,) = measure(problem, family, rows.flatten(-2), np.zeros(1, dtype=int))
    assert (line["coverage"], line["pass_rate"]) == pytest.approx((coverage, pass_rate), abs=5e-4)

    def away(theta):
        log_pi = family.log_prob(family.rows(theta), words)
        return (target * (target.log() - log_pi)).sum().item()

    least = away(rows.flatten(-2))
    rng = np.random.default_rng(0)
    for _ in range(20):
        shift = 0.05 * torch.from_numpy(rng.normal(size=rows.shape))
        assert away((rows + shift).flatten(-2)) > least
    # A false neighbour: the reverse-KL fit of high pass rate is farther from p_* in this direction.
    found, _ = fit_reverse_kl(problem, 5.0, homogeneous=homogeneous)
    assert away(found.theta) > least


def test_a_family_without_a_valid_dirac_is_refused(problem):
    one = from_predicate(lambda text: text == "(())(())", "()", 8)
    other = CollapseProblem("one", problem.bases, one, 8)
    with pytest.raises(ValueError, match="deterministic member must be valid"):
        best_dirac(other, other.family(homogeneous=True))
    assert best_dirac(other, other.family(homogeneous=False)).shape == (1, 30)
