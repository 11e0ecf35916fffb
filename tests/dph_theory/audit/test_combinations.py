import numpy as np
import pytest

from dph_theory.audit.combinations import find_sum

RNG = np.random.default_rng(0)
COLUMNS = {name: RNG.normal(size=12) for name in ("reward", "kl", "entropy", "tv", "chi")}
BEND, SHIFT = RNG.normal(size=12), RNG.normal(size=12)


def of_alpha(alpha):
    return {f"alpha {alpha:.6g}": np.expm1(alpha * BEND) / alpha + SHIFT}


@pytest.mark.parametrize(
    "terms", [{"kl": 2.0}, {"reward": 1.0, "kl": 0.04}, {"reward": 1.0, "entropy": -0.01, "chi": 0.3}]
)
def test_a_planted_sum_is_found_with_its_coefficients(terms):
    found = find_sum(sum(c * COLUMNS[name] for name, c in terms.items()), COLUMNS, of_alpha, 1e-9)
    assert {name: c for c, name in found.terms} == pytest.approx(terms)


@pytest.mark.parametrize("alpha", [0.37, 0.83, 2.1])
def test_an_alpha_off_the_grid_is_found_beside_a_reward(alpha):
    wanted = COLUMNS["reward"] + 0.3 * next(iter(of_alpha(alpha).values()))
    found = find_sum(wanted, COLUMNS, of_alpha, 1e-9)
    assert {name: c for c, name in found.terms} == pytest.approx({f"alpha {alpha:g}": 0.3, "reward": 1.0})


def test_noise_and_four_terms_are_no_sum():
    assert find_sum(RNG.normal(size=12), COLUMNS, of_alpha, 1e-9) is None
    assert find_sum(sum(list(COLUMNS.values())[:4]), COLUMNS, None, 1e-9) is None


def test_equal_columns_and_two_scales_of_one_are_not_summed():
    columns = {"kl": COLUMNS["kl"], "twice": 2 * COLUMNS["kl"], "tv": COLUMNS["tv"]}
    columns["tv, per token"] = COLUMNS["tv"] * np.repeat([1.0, 0.5], 6)
    assert find_sum(2 * COLUMNS["kl"], columns, None, 1e-9).terms == ((pytest.approx(2), "kl"),)
    assert find_sum(columns["tv"] + columns["tv, per token"], columns, None, 1e-9) is None
