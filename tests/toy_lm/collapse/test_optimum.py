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


def fit(problem, strengths, homogeneous=True, starts=2):
    family, rows = problem.family(homogeneous=homogeneous), np.zeros(len(strengths), dtype=int)
    points = starting_points(problem, family, starts, np.random.default_rng(0))[rows]
    parameters = (problem.rows(family)[rows], torch.tensor(strengths, dtype=torch.float64))
    found = global_minimum(
        problem.reverse_kl(family), family, points, best_dirac(problem, family)[rows], *parameters
    )
    return found, measure(problem, family, found.theta, rows)


def fit_alpha(problem, alpha, homogeneous=True):
    family, row = problem.family(homogeneous=homogeneous), np.zeros(1, dtype=int)
    points = starting_points(problem, family, 1, np.random.default_rng(0))
    dirac, base = best_dirac(problem, family), problem.rows(family)
    found = global_minimum(problem.alpha(family, alpha), family, points, dirac, base)
    return found, measure(problem, family, found.theta, row)[0]


def test_reverse_kl_jumps_to_a_dirac_in_the_homogeneous_family(problem):
    found, lines = fit(problem, [0.5, 4.0, 5.0, 10.0])
    assert [line["collapsed"] for line in lines] == [False, False, True, True]
    assert lines[0]["validity"] < lines[1]["validity"] == pytest.approx(0.0900, abs=5e-5)
    assert lines[2]["top"] == pytest.approx(0.946, abs=5e-4)
    assert lines[3]["top"] == pytest.approx(0.9997, abs=5e-5)
    assert {line["top_word"] for line in lines} == {"()()()()"}
    assert (found.agree >= found.starts - 3).all()
    assert (found.unconverged == 0).all()
    assert (found.curvature > 0.4).all()
    assert (found.gradient_norm < 1e-6).all()
    assert not found.boundary.any()
    assert (found.value < found.dirac).all()
    # At lambda = 4 the collapsed policy is a second minimum, above the first.
    assert found.gap[1].item() == pytest.approx(0.12729, abs=1e-5)


def test_the_inhomogeneous_family_keeps_valid_mixtures(problem):
    found, (line,) = fit(problem, [10.0], homogeneous=False)
    assert line["effective"] == pytest.approx(5.8, abs=0.05)
    assert not line["collapsed"]
    assert line["validity"] > 0.999
    assert found.agree > found.starts / 2


def test_no_point_of_a_grid_over_the_family_is_better(problem):
    family, strength = problem.family(homogeneous=True), 5.0
    odds = np.append(np.linspace(-12, 12, 25), np.linspace(3, 7, 9))
    theta = torch.zeros(len(odds) ** 3, 6, dtype=torch.float64)
    theta[:, ::2] = torch.from_numpy(np.array(list(itertools.product(odds, repeat=3))))
    base = problem.rows(family).expand(len(theta), -1, -1)
    values = problem.reverse_kl(family)(theta, base, torch.full((len(theta),), strength).double())
    found, _ = fit(problem, [strength])
    assert found.value.item() < values.min().item() < found.value.item() + 0.05


def test_alpha_jumps_to_the_dirac_which_no_policy_attains(problem):
    for alpha, validity in ((0.9, 0.3065), (0.75, 0.372)):
        found, line = fit_alpha(problem, alpha)
        assert not found.boundary.item()
        assert found.value < found.dirac
        assert line["validity"] == pytest.approx(validity, abs=5e-4)
    for alpha in (0.5, 0.3, 0.1):
        found, line = fit_alpha(problem, alpha)
        assert found.boundary.item()
        assert found.value == found.dirac
        assert line["top"] == 1
        top = problem.targets.max()
        assert found.value.item() == pytest.approx((1 - top**alpha) / (alpha * (1 - alpha)))


def two_wells(theta):
    """Minima where the first row's log-odds are near -1 and 1, the left one lower; the others at 0."""
    x = theta[:, 0] - theta[:, 1]
    rest = theta[:, 2::2] - theta[:, 3::2]
    return (x**2 - 1) ** 2 + 0.1 * x + rest.square().sum(-1)


def test_a_planted_second_minimum_is_found_and_its_gap_measured():
    family = Bigrams(2, 8, homogeneous=True)
    starts = torch.zeros(1, 7, family.size, dtype=torch.float64)
    starts[0, :, 0] = torch.tensor([-2.0, -1.0, -0.5, 0.5, 0.8, 1.0, 2.0])
    found = global_minimum(two_wells, family, starts, torch.full((1, family.size), 9.0).double())
    left, right = (min(np.roots([4, 0, -4, 0.1]), key=lambda root: abs(root - at)) for at in (-1, 1))
    value = lambda x: (x**2 - 1) ** 2 + 0.1 * x  # noqa: E731
    assert (found.agree.item(), found.starts.item()) == (3, 7)
    assert found.value.item() == pytest.approx(value(left), abs=1e-10)
    assert found.gap.item() == pytest.approx(value(right) - value(left), abs=1e-9)
    assert found.certificates()[0]["agree"] == 3
    # From the right alone the lower one is missed, and nothing betrays it: a certificate is no proof.
    missed = global_minimum(two_wells, family, starts[:, 3:], torch.full((1, family.size), 9.0).double())
    assert missed.agree.item() == 4
    assert missed.gap.item() == np.inf
    assert missed.value > found.value


def wells_from(*odds):
    starts = torch.zeros(1, len(odds), 6, dtype=torch.float64)
    starts[0, :, 0] = torch.tensor(odds)
    return starts, torch.full((1, 6), 9.0).double()


def test_two_searches_are_joined_with_the_better_minimum():
    family = Bigrams(2, 8, homogeneous=True)
    left, right = (
        global_minimum(two_wells, family, *wells_from(*x)) for x in ((-1.0, -2.0), (0.5, 1.0, 2.0))
    )
    both = global_minimum(two_wells, family, *wells_from(-1.0, -2.0, 0.5, 1.0, 2.0))
    for joined in (left.joined(right), right.joined(left)):
        assert joined.value.item() == pytest.approx(both.value.item())
        assert (joined.agree.item(), joined.starts.item()) == (2, 5)
        assert joined.gap.item() == pytest.approx(both.gap.item())
        torch.testing.assert_close(joined.theta, left.theta)
    twice = both.joined(left)
    assert (twice.agree.item(), twice.starts.item()) == (4, 7)
    assert twice.gap.item() == pytest.approx(both.gap.item())


def test_a_minimum_met_too_rarely_is_searched_for_again():
    family, calls = Bigrams(2, 8, homogeneous=True), []

    def fresh():
        calls.append(1)
        return wells_from(-1.0, 1.5)[0][0]

    def confirmed(rounds, *odds):
        calls.clear()
        found = confirmed_minimum(two_wells, family, *wells_from(*odds), fresh=fresh, rounds=rounds)
        return found, len(calls)

    # From the right alone, twice: too few, and the fresh starts find the lower one.
    found, rounds = confirmed(9, 1.0, 2.0)
    assert rounds == ENOUGH
    assert (found.agree.item(), found.starts.item()) == (ENOUGH, 2 + 2 * ENOUGH)
    assert found.value < global_minimum(two_wells, family, *wells_from(1.0)).value - 0.1
    assert confirmed(1, 1.0, 2.0)[0].agree.item() == 1
    # From the right alone, three times: enough, and the lower one is missed.
    found, rounds = confirmed(9, 0.5, 1.0, 2.0)
    assert rounds == 0
    assert found.gap.item() == np.inf


def test_fresh_starts_that_lead_nowhere_change_nothing_but_the_count():
    family = Bigrams(2, 8, homogeneous=True)

    def falling(theta):
        x = theta[:, 0] - theta[:, 1]
        return torch.where(x > 0, x**2 - 3 * x, -(x.abs() ** 3)) + theta[:, 2:].square().sum(-1)

    starts, dirac = wells_from(1.0)
    nowhere = wells_from(-40.0, -50.0)[0][0]
    found = confirmed_minimum(falling, family, starts, dirac, fresh=lambda: nowhere, rounds=1)
    assert found.value.item() == pytest.approx(-9 / 4)
    assert (found.agree.item(), found.starts.item(), found.unconverged.item()) == (1, 3, 2)
    assert found.gap.item() == np.inf


@pytest.mark.parametrize("homogeneous", [True, False])
def test_the_m_projection_minimises_the_forward_kl(problem, homogeneous):
    family = problem.family(homogeneous=homogeneous)
    rows, words = projected(problem, family), torch.from_numpy(problem.valid_words)
    target = torch.from_numpy(problem.targets[0])

    def away(theta):
        log_pi = family.log_prob(family.rows(theta), words)
        return (target * (target.log() - log_pi)).sum().item()

    least = away(rows.flatten(-2))
    rng = np.random.default_rng(0)
    for _ in range(20):
        shift = 0.05 * torch.from_numpy(rng.normal(size=rows.shape))
        assert away((rows + shift).flatten(-2)) > least
    # A false neighbour: the reverse-KL fit of high validity is farther from p_* in this direction.
    found, _ = fit(problem, [5.0], homogeneous)
    assert away(found.theta) > least


def test_starting_points_hold_the_base_and_are_reproducible(problem):
    family = problem.family(homogeneous=True)
    points = starting_points(problem, family, 2, np.random.default_rng(1))
    assert points.shape == (1, 4 * 2 + 3, family.size)
    assert points.isfinite().all()
    torch.testing.assert_close(points[:, -3], family.tables(problem.bases).flatten(-2))
    torch.testing.assert_close(points, starting_points(problem, family, 2, np.random.default_rng(1)))


def test_a_family_without_a_valid_dirac_is_refused(problem):
    one = from_predicate(lambda text: text == "(())(())", "()", 8)
    other = CollapseProblem("one", problem.bases, one, 8)
    with pytest.raises(ValueError, match="deterministic member must be valid"):
        best_dirac(other, other.family(homogeneous=True))
    assert best_dirac(other, other.family(homogeneous=False)).shape == (1, 30)


def test_an_objective_without_a_minimum_is_refused():
    family = Bigrams(2, 8, homogeneous=True)
    starts = torch.zeros(1, 2, family.size, dtype=torch.float64)
    with pytest.raises(ValueError, match="from none of them was a minimum reached"):
        confirmed_minimum(
            lambda t: (t[:, 1] - t[:, 0] - 1) ** 3, family, starts, starts[:, 0], fresh=list, rounds=1
        )
