import inspect
import itertools
import math
from pathlib import Path

import pytest
import torch

from dph_theory.losses.kl_terms import ENDS, KL_TERMS, SHOWN, term

E = math.e
REVERSE, FORWARD = "reverse KL(pi||ref)", "forward KL(ref||pi)"


def slope(form, x):
    """Value and slope of the form on one token of log ratio x, the old policy the policy."""
    log_pi = torch.tensor([[min(x, 0.0)]], dtype=torch.float64, requires_grad=True)
    given = {
        "log_pi": log_pi,
        "log_ref": torch.tensor([[min(-x, 0.0)]], dtype=torch.float64),
        "log_old": log_pi.detach().clone(),
        "mask": torch.ones(1, 1, dtype=torch.float64),
    }
    value = form.loss(**{name: given[name] for name in inspect.signature(form.loss).parameters})
    (found,) = torch.autograd.grad(value, log_pi)
    return float(value.detach()), float(found)


def form(trainer, flag, version=None, samples=None):
    rows = [row for row in KL_TERMS if (row.trainer, row.flags) == (trainer, flag)]
    (row,) = [row for row in rows if version in (None, row.version) and samples in (None, row.samples)]
    return row


AT_MINUS_ONE = {
    "k1": (-1, 1),
    "k1+": (-1, -1),
    "abs": (1, -1),
    "k2": (0.5, -1),
    "k3": (E - 2, 1 - E),
    "k3+": (E - 2, -1),
    # Subtracted from the reward; times the ratio of the policy to itself; the old policy is the policy here.
    "-k2": (-0.5, 0.5),
    "-k3": (2 - E, E - 2),
    "rk1": (-1, 0),
    "rk2": (0.5, -0.5),
    "old": (0, 0),
}
"""Value and slope at x = -1."""
COMPUTED = {
    "TRL": "k3 k3+ k3+ k3+",
    "verl": "k1 abs k2 k3 k3 abs -k3 k1+ abs k3+",
    "NeMo-RL": "k3 k3 rk1 rk2 k3+ k3+ rk1 rk2 k3+ k3+ -k3",
    "slime": "k1 k2 k3 k3 rk1 rk2 k3+ k3+",
    "OpenRLHF": "k1 k2 k3 abs",
    "open-instruct": "k1 k2 k3 rk1",
    "oat": "k3 abs",
    "prime-rl": "old k1+",
    "SkyRL": "k3 k1 k2 abs abs -k3",
    "AReaL": "abs -k2 -k3",
    "Tinker": "abs abs",
}
"""What a trainer's settings compute, in the order of the table."""


@pytest.mark.parametrize("trainer", dict.fromkeys(form.trainer for form in KL_TERMS))
def test_every_formula_at_a_log_ratio_of_minus_one(trainer):
    forms = [form for form in KL_TERMS if form.trainer == trainer]
    for each, name in zip(forms, COMPUTED[trainer].split(), strict=True):
        assert slope(each, -1.0) == pytest.approx(AT_MINUS_ONE[name]), each.title


def test_clamps_act_where_the_code_has_them():
    k2 = form("OpenRLHF", "algo.kl.use_loss, estimator=k2")
    assert slope(k2, 4.47)[1] == pytest.approx(4.47)
    assert slope(k2, 4.48) == (10, 0)
    assert slope(form("open-instruct", "kl_estimator=1"), 41.0) == (800, 0)
    # After the ratio, in slime, the clamp stops the ratio's own gradient too.
    assert slope(form("slime", "low_var_kl with importance_ratio"), -5.0) == (10, 0)
    # In NeMo-RL the score's own gradient survived the clamp for three days.
    assert slope(form("NeMo-RL", "kl_type=k2", "33bce20d7"), 5.0) == (10, 10)
    assert slope(form("NeMo-RL", "kl_type=k2", "7ea279abf"), 5.0) == (10, 0)


def test_every_setting_stands_once():
    keys = [(term.trainer, term.version, term.file, term.flags) for term in KL_TERMS]
    assert len(set(keys)) == len({term.title for term in KL_TERMS}) == len(keys)
    assert KL_TERMS[0].title == f"TRL 1.16, {KL_TERMS[0].flags}"


def test_the_log_ratio_below_which_a_clamp_acts():
    edge = form("verl", "kl_loss_type=low_var_kl, k3", samples="policy").released_below
    assert math.exp(-edge) - 1 + edge == pytest.approx(10)
    assert edge == pytest.approx(-2.610869, abs=1e-6)
    of_k2 = form("OpenRLHF", "algo.kl.use_loss, estimator=k2")
    assert of_k2.released_below**2 / 2 == pytest.approx(10)
    assert math.exp(of_k2.released_above) == pytest.approx(87.54, abs=0.01)
    assert "or above 87.5 times it" in of_k2.stationary_kl
    assert form("oat", "beta").released_below == -40
    assert form("TRL", "use_bias_correction_kl=False (default to 1.9.1)").released_below == -math.inf


def test_only_the_reward_selects_the_filtered_model():
    for row in SHOWN:
        assert row.place.startswith("reward") is (row.selects == "filtered model")
        assert row.selects in ENDS
    # Of those in the loss, only a forward KL that no clamp lets go ends anywhere but at the local filter.
    assert form("verl", "kl_loss_type=mse, k2", samples="policy").selects == "constrained decoding"
    plain = form("TRL", "use_bias_correction_kl=False (default to 1.9.1)")
    assert plain.selects == "small-beta limit of k3"


def test_a_clip_lets_the_wrong_tokens_go_and_the_page_says_so():
    term = form("verl", "kl_loss_type=low_var_kl, k3", samples="policy")
    released = "below 7.3% of its base probability a token gets no KL gradient (the clamp)"
    assert term.stationary_kl.endswith(released)
    page = Path(__file__).parents[3] / "docs" / "your-trainers-kl.md"
    (row,) = [line for line in page.read_text().splitlines() if "low\\_var\\_kl, k3 |" in line]
    assert "constrained decoding" in row


@pytest.mark.parametrize("length", [1, 2, 4, 6])
def test_k3_times_an_answer_s_ratio_is_mostly_the_forward_kl_of_long_answers(length):
    """On L independent tokens: 1/L of the reverse KL's gradient and 1 - 1/L of the forward one's, exactly."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(length, 2, generator=generator, dtype=torch.float64).requires_grad_()
    log_pi = logits.log_softmax(-1)
    log_ref = torch.randn(length, 2, generator=generator, dtype=torch.float64).log_softmax(-1)
    of_answer, place = term("answer ratio"), torch.arange(length)
    expected = torch.zeros((), dtype=torch.float64)
    for answer in itertools.product(range(2), repeat=length):
        own, ref = log_pi[place, list(answer)][None], log_ref[place, list(answer)][None]
        value = of_answer.loss(own, ref, own.detach(), torch.ones(1, length, dtype=torch.float64))
        # Times the length: the loss is a mean over tokens.
        expected = expected + own.sum().exp().detach() * length * value
    (combined,) = torch.autograd.grad(expected, logits, retain_graph=True)
    reverse, forward = (
        torch.autograd.grad((p.exp() * (p - q)).sum(), logits, retain_graph=True)[0]
        for p, q in ((log_pi, log_ref), (log_ref, log_pi))
    )
    torch.testing.assert_close(combined, reverse / length + (1 - 1 / length) * forward, atol=1e-12, rtol=0)
    assert of_answer.divergence is None
    assert of_answer.stationary_kl == "1/L reverse and 1 - 1/L forward KL per token, in answers of L tokens"
