import pytest

from dph_theory.laws import normalised_validity_at
from dph_theory.predict import kl_form, predict


def test_the_dial_at_a_quarter():
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
