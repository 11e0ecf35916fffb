import numpy as np
import pytest

from dph_theory.laws import normalised_validity_at
from dph_theory.predict import kl_form, predict


def test_the_pass_rate_reached_from_a_quarter():
    found = predict(kl_form("trl"), 1.0, 8, [0.25])
    assert found.mean_validity == pytest.approx(0.670190, abs=5e-7)
    assert predict(kl_form("trl"), 0.5, 8, [0.25], scale="leave_one_out").mean_validity == pytest.approx(
        0.711235, abs=5e-7
    )


def test_equivalent_betas_have_the_same_validity():
    found = predict(kl_form("verl"), 0.3, 4, [0.2])
    beta = found.equivalent["reverse KL, advantages not divided"]
    assert normalised_validity_at(0.2, beta, 4, "none") == pytest.approx(found.mean_validity, rel=1e-9)
    assert found.equivalent["forward KL, advantages divided by the deviation"] == pytest.approx(0.3, rel=1e-9)


def test_several_pass_rates_are_told():
    (prompt,) = predict(kl_form("trl"), 0.42, 32, [0.01]).prompts
    assert prompt.validity == pytest.approx(0.504222, abs=5e-7)
    assert prompt.others == pytest.approx((0.999782,), abs=5e-7)


def test_prompts_that_cannot_move_stay():
    found = predict(kl_form("trl"), 0.1, 4, [0.0, 1.0])
    assert [prompt.validity for prompt in found.prompts] == [0, 1]
    assert found.equivalent == {}
    with pytest.raises(ValueError, match="at least one base rate"):
        predict(kl_form("trl"), 0.1, 4, [])


def trained(beta, base_rate, clip):
    """The validity that exact ascent of V less beta times k3, its value clipped, ends at from the base."""
    base, reward = np.array([base_rate, 1 - base_rate]), np.array([1.0, 0.0])
    logits = np.log(base)
    for _ in range(20_000):
        pi = np.exp(logits - logits.max())
        pi /= pi.sum()
        ratio = np.maximum(pi, 1e-300) / base
        slope = np.where(1 / ratio - 1 + np.log(ratio) < clip, 1 - 1 / ratio, 0.0)
        # The natural gradient: in logits it is the advantage itself.
        gain = reward - beta * slope
        logits = logits + 0.2 * (gain - pi @ gain)
    return pi[0]


@pytest.mark.parametrize("beta", [0.2, 0.09, 0.06])
def test_below_the_clip_nothing_holds_a_wrong_answer(beta):
    found = predict(kl_form("verl"), beta, 8, [0.25], scale="leave_one_out").mean_validity
    assert found == pytest.approx(trained(beta, 0.25, 10), abs=1e-6)
    assert (found == 1) is (beta < 0.07)
    assert predict(kl_form("trl", "k3"), beta, 8, [0.25], scale="leave_one_out").mean_validity < 1


def test_a_verifier_that_errs_acts_as_a_larger_beta():
    setting = (kl_form("trl"), 0.5, 8, [0.25])
    found = predict(*setting, scale="leave_one_out", false_negative=0.2)
    assert found.mean_validity == pytest.approx(0.622785, abs=5e-7)
    found = predict(*setting, scale="leave_one_out", false_positive=0.05, false_negative=0.2)
    assert found.mean_validity == pytest.approx(0.599021, abs=5e-7)
    with pytest.raises(ValueError, match="scale='std' is not allowed: one of none, leave_one_out"):
        predict(*setting, false_negative=0.2)
