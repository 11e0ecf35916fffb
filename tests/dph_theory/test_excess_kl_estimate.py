import numpy as np
import pytest

from dph_theory import excess_kl, kappa
from dph_theory.meter import excess_kl_estimate

BASE, POLICY = np.array([0.15, 0.1, 0.45, 0.3]), np.array([0.3, 0.25, 0.25, 0.2])
VALID = np.array([True, True, False, False])


def sampled(prompts, samples, seed=0):
    drawn = np.random.default_rng(seed).choice(4, size=(prompts, samples), p=POLICY)
    log_pi, log_ref = (np.log(policy)[drawn] for policy in (POLICY, BASE))
    return VALID[drawn], log_pi, log_ref, np.full(prompts, 0.25)


def test_mean_and_errors_are_right_on_the_theorys_example():
    exact = excess_kl(POLICY, BASE, VALID).excess
    assert exact == pytest.approx(0.003365288936 + 0.001831842848, abs=1e-11)
    estimate = excess_kl_estimate(*sampled(10_000, 64))
    assert abs(estimate.mean - exact) < 4 * estimate.mean_standard_error
    # The jackknife errs upwards here: the excess is small, so that most of what varies is of second order.
    ratio = np.sqrt(np.square(estimate.standard_error).mean()) / estimate.excess.std()
    assert 0.95 < ratio < 1.25


def test_the_jackknife_by_leaving_out_one_at_a_time():
    rewards, log_pi, log_ref, rates = sampled(1, 6)

    def plug_in(keep):
        mean = rewards[0, keep].mean()
        return (log_pi - log_ref)[0, keep].mean() - float(kappa(mean, 0.25))

    left_out = np.array([plug_in([j for j in range(6) if j != i]) for i in range(6)])
    estimate = excess_kl_estimate(rewards, log_pi, log_ref, rates)
    excess = 6 * plug_in(list(range(6))) - 5 * left_out.mean()
    assert estimate.excess[0] == pytest.approx(excess, rel=1e-12)
    assert estimate.standard_error[0] == pytest.approx(np.sqrt(5 * left_out.var()), rel=1e-12)


def test_equal_rewards_in_single_and_double_precision():
    for dtype in (np.float64, np.float32):
        log_pi = np.array([[-1.0, -2.0], [-1.0, -1.0]], dtype=dtype)
        rates = np.array([0.25, 0.5], dtype=dtype)
        estimate = excess_kl_estimate([[1.0, 1.0], [0.0, 0.0]], log_pi, log_pi - 1, rates)
        np.testing.assert_allclose(estimate.excess, [1 + np.log(0.25), 1 + np.log(0.5)], rtol=1e-12)
        assert estimate.standard_error.tolist() == pytest.approx([0, 0], abs=1e-12)


X = np.zeros((2, 3))
GOOD = {"rewards": X == 0, "log_pi": X, "log_ref": X, "base_rates": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rewards": X + 0.5}, r"(?s)rewards=.*zeros and ones"),
        ({"log_pi": X[:, :2], "log_ref": X[:, :2]}, r"log_pi \(2, 2\)"),
        ({"base_rates": [0.5]}, r"base_rates \(1,\)"),
        ({"base_rates": [1.0, 0.5]}, r"base_rates=1\.0"),
        ({"rewards": X[:, :1]}, r"rewards\.shape=\(2, 1\).*two samples"),
    ],
)
def test_an_error_names_the_argument_and_its_value(changed, words):
    with pytest.raises(ValueError, match=words):
        excess_kl_estimate(**GOOD | changed)


@pytest.mark.parametrize(("samples", "least"), [(8, 0.04), (32, 0.01)])
def test_rates_from_a_few_samples_no_longer_make_the_excess_look_less_than_nothing(samples, least):
    """At the base itself the excess is zero; the plug-in rate alone brings it down by 1/(2n) or so."""
    rng = np.random.default_rng(0)
    true = rng.beta(1, 1, 20_000)
    rates = (rng.binomial(samples, true) + 0.5) / (samples + 1)
    rewards, zero = rng.random((20_000, 16)) < true[:, None], np.zeros((20_000, 16))
    plain = excess_kl_estimate(rewards, zero, zero, rates)
    corrected = excess_kl_estimate(rewards, zero, zero, rates, rate_samples=samples)
    assert plain.mean < -least
    assert abs(corrected.mean) < 0.35 * abs(plain.mean)
    assert (corrected.standard_error >= plain.standard_error).all()
    with pytest.raises(ValueError, match="rate_samples=0 is not allowed"):
        excess_kl_estimate(rewards, zero, zero, rates, rate_samples=0)
