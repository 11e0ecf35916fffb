"""What an audit says of small losses: right ones, wrong ones that look right, and such as nobody planned for.

A row is a loss, the samples it is used on, and what it descends, derived by hand: the verdict must say so.
All else that is found is held to `verdicts.txt`: run this file to write it anew, and read the difference.
x = log(pi/ref), u = e^x, s = grad log pi; E[c s] = 0 for a constant c on the policy's samples.
"""

import math
from pathlib import Path

import pytest
import torch
from support.shown_text import assert_shown_alike

from dph_theory.audit import audit
from dph_theory.audit.argument_names import SAMPLER, meanings_of
from dph_theory.losses import kl_term
from dph_theory.losses.policy_losses import policy_loss

BOOK = Path(__file__).with_name("verdicts.txt")


def k3(x):
    """Of minus x: u - 1 - log u of the ratio ref/pi on the policy's samples."""
    return x.exp() - 1 - x


def mean(values, mask):
    return (values * mask).sum() / mask.sum()


def summed(values, mask):
    """Of each answer."""
    return (values * mask).sum(dim=-1)


def js(x):
    u = x.exp()
    return u * u.log() - (u + 1) * ((u + 1) / 2).log()


def clipped(ratio, advantages):
    return -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)


def cost(log_pi, log_ref, mask):
    """k1 of each answer, held fixed."""
    return summed((log_pi - log_ref).detach(), mask)


def grpo(log_pi, log_ref, log_old, advantages, mask, over="batch", keep=1.0):
    """TRL's idiom: per token the clipped ratio times the advantage, and .04 k3."""
    terms = clipped((log_pi - log_old).exp(), advantages) + 0.04 * k3(log_ref - log_pi)
    counted = mask * keep
    if over == "answers":
        return (summed(terms, counted) / counted.sum(-1).clamp(min=1.0)).mean()
    return summed(terms, counted).sum() / counted.sum().clamp(min=1.0)


def by_unsqueeze(log_pi, log_ref, log_old, advantages, mask):
    return grpo(log_pi, log_ref, log_old, advantages.unsqueeze(1), mask, "answers")


def by_index(log_pi, log_ref, log_old, advantages, mask):
    return grpo(log_pi, log_ref, log_old, advantages[:, None], mask)


def either(log_pi, log_ref, log_old, advantages, mask):
    advantages = advantages.unsqueeze(1) if advantages.dim() == 1 else advantages
    return grpo(log_pi, log_ref, log_old, advantages, mask)


def without_equal(log_pi, log_ref, log_old, advantages, mask):
    """Tokens of advantage zero are masked: their KL goes, and they do not count."""
    return grpo(log_pi, log_ref, log_old, advantages, mask, keep=(advantages != 0).double())


def three_terms(log_pi, log_ref, log_old, advantages, mask):
    """A clipped policy loss, .04 k3 and an entropy bonus of .01."""
    entropy, kl = log_pi * log_pi.detach(), k3(log_ref - log_pi)
    return mean(clipped((log_pi - log_old).exp(), advantages) + 0.04 * kl + 0.01 * entropy, mask)


def sequence_masked(log_pi, log_old, advantages):
    ratio = (log_pi - log_old).sum(-1, keepdim=True).exp().detach()
    return -(torch.where((ratio > 1 / 3) & (ratio < 3), ratio, 0.0) * advantages * log_pi).sum(-1).mean()


def minus_batch_mean(log_pi, log_ref, mask):
    """The mean over a batch of B holds the answer itself: (1 - 1/B) of the reverse KL."""
    costs = cost(log_pi, log_ref, mask)
    return (summed(log_pi, mask) * (costs - costs.mean())).mean()


def minus_the_others(log_pi, log_ref, mask):
    """Fails on a batch of one."""
    costs = cost(log_pi, log_ref, mask)
    return (summed(log_pi, mask) * (costs - (costs.sum() - costs) / (len(costs) - 1))).mean()


def less_its_mean(log_pi, log_ref, mask):
    """Zero on every batch of several, but for rounding; not a number on one."""
    away = summed(log_pi - log_ref, mask) - summed(log_pi - log_ref, mask).mean()
    return (away / ((away**2).sum() / (len(away) - 1) + 1e-3)).mean()


def all_pairs(log_pi, log_ref, mask):
    """B(B-1) ordered pairs, each a fourth of 2 (x_i^2 - x_i x_j): B - 1 answers' E[x s] twice over."""
    x = summed(log_pi - log_ref, mask)
    return ((x[:, None] - x[None, :]) ** 2).sum() / 4


def kl_counted_by_the_batch(log_pi, log_ref, log_old, advantages, mask):
    """The KL term is multiplied by the number of sequences, as by a wrong broadcast."""
    policy = -(log_pi - log_old).exp() * advantages
    return mean(policy + 0.02 * len(mask) * (log_pi - log_ref) ** 2, mask)


def misaligned(log_pi, advantages, mask):
    """A number for each token meets the sums over the sequences: alone a sequence goes through."""
    return -(advantages * mask * summed(log_pi, mask)).mean()


def preference(log_pi, log_ref, advantages, mask):
    """A logistic loss of pairs, which a single answer does not make: none of the known."""
    if len(log_pi) % 2:
        raise ValueError("pairs are needed")
    x, better = summed(log_pi - log_ref, mask), torch.sign(advantages[::2, 0] - advantages[1::2, 0])
    return -torch.nn.functional.logsigmoid(better * (x[::2] - x[1::2])).mean()


def of_one_token(log_pi, log_ref):
    if log_pi.shape[1] > 1:
        raise RuntimeError("one token only")
    return k3(log_ref - log_pi).mean()


def under_no_grad(log_pi, log_ref, mask):
    with torch.no_grad():
        return mean(log_pi - log_ref, mask)


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("no gradient here\nand more")


def asserting(log_pi):
    raise AssertionError


ZERO, COUPLED = "Its gradient is ZERO", "The answers of a batch change each other's gradient"
REVERSE, FORWARD = "the reverse KL(pi||ref) of each token", "the forward KL(ref||pi) of each token"
FILTERED, UNKNOWN = "(filtered model", "none of the known quantities"
POLICY, OLD, REFERENCE, CORRECT = "policy", "old_policy", "reference", "filtered"
ROWS = [
    # The estimators: E[x s] is the slope of E[x]; k3's is E[(1 - 1/u) s] = -E_ref[s], forward KL.
    ("k1", POLICY, ZERO, lambda log_pi, log_ref: (log_pi - log_ref).mean()),
    ("k2", POLICY, REVERSE, lambda log_pi, log_ref: ((log_pi - log_ref) ** 2 / 2).mean()),
    ("k3", POLICY, FORWARD, lambda log_pi, log_ref: k3(log_ref - log_pi).mean()),
    ("minus log u", REFERENCE, "the forward KL(ref||pi)", lambda log_pi, log_ref: (log_ref - log_pi).mean()),
    ("minus log u", CORRECT, FILTERED, lambda log_pi, log_ref: (log_ref - log_pi).mean()),
    ("k3 rehearsed", CORRECT, "(base's own rate", lambda log_pi, log_ref: k3(log_pi - log_ref).mean()),
    ("k1", CORRECT, "It RAISES the forward KL(p_*||pi): a sign error.",
     lambda log_pi, log_ref: (log_pi - log_ref).mean()),
    # u log u is least at u = 1/e; E_ref[u (x + 1) s] = E[(x + 1) s], reverse KL.
    ("u log u", CORRECT, "a multiple of the base's own pass rate",
     lambda log_pi, log_ref: ((log_pi - log_ref).exp() * (log_pi - log_ref)).mean()),
    ("u log u", REFERENCE, "the reverse KL(pi||ref)",
     lambda log_pi, log_ref, mask: mean((log_pi - log_ref).exp() * (log_pi - log_ref), mask)),
    ("x held times x", POLICY, REVERSE,
     lambda log_pi, log_ref, mask: mean((log_pi - log_ref) * (log_pi - log_ref).detach(), mask)),
    ("ratio held, k1", OLD, ZERO,
     lambda log_pi, log_ref, log_old, mask:
         mean((log_pi - log_old).exp().detach() * (log_pi - log_ref), mask)),
    ("k3 in 32 bits", POLICY, FORWARD,
     lambda log_pi, log_ref: k3(log_ref.float() - log_pi.float()).double().mean()),
    ("k2 in 16 bits", POLICY, "It computes in 16 bits",
     lambda log_pi, log_ref: ((log_pi.bfloat16() - log_ref.bfloat16()) ** 2).mean()),
    # The slope of (-x)+ is -E[s; u < 1], that of the sum of (ref - pi)+.
    ("hinge", POLICY, "the total variation of each token",
     lambda log_pi, log_ref, mask: mean((log_ref - log_pi).clamp(min=0), mask)),
    ("mixture", POLICY, "0.3 times " + FORWARD,
     lambda log_pi, log_ref, log_old, mask:
         mean((0.3 + 0.7 * (log_pi - log_old).exp()) * k3(log_ref - log_pi), mask)),
    ("k3 and k2", POLICY, f"{FORWARD} plus {REVERSE}",
     lambda log_pi, log_ref: (k3(log_ref - log_pi) + (log_pi - log_ref) ** 2 / 2).mean()),
    # f' = (1 - u^-a)/a at a = .37, which nobody declared; f = (u-1)^2/(u+1), f' = (u-1)(u+3)/(u+1)^2.
    ("alpha .37", POLICY, f"{UNKNOWN}; nearest is the alpha-divergence 0.5",
     lambda log_pi, log_ref, mask:
         (summed(log_pi, mask) * (-torch.exp(-0.37 * cost(log_pi, log_ref, mask)) / 0.37)).mean()),
    ("triangular", POLICY, f"{UNKNOWN}; nearest is the JS generator",
     lambda log_pi, log_ref, mask:
         (summed(log_pi, mask) * ((u := cost(log_pi, log_ref, mask).exp()) - 1) * (u + 3) / (u + 1) ** 2
          ).mean()),
    ("sin(40 log pi)", POLICY, f"{UNKNOWN}; nothing is near", lambda log_pi: torch.sin(40 * log_pi).mean()),
    ("sin^2 x, tiny", POLICY, UNKNOWN,
     lambda log_pi, log_ref: 1e-6 * torch.sin(log_pi - log_ref).square().mean()),
    ("minus k2 and a cube", POLICY, "nearest is the opposite of",
     lambda log_pi, log_ref: -((x := log_pi - log_ref).square() / 2 + 0.03 * x.abs().pow(3)).mean()),
    ("k2, other names logged", POLICY, REVERSE,
     lambda log_pi, log_ref: ((log_pi - log_ref).square().mean() / 2, {"kl": 1.0})),
    ("any arguments", POLICY, ZERO, lambda **given: (given["log_pi"] - given["log_ref"]).sum()),
    # Rewards, and what stands beside them.
    ("policy gradient", POLICY, "to 1e-6. No KL: nothing constrains the policy to the base.",
     lambda log_pi, advantages: -(log_pi * advantages).sum(dim=-1).mean()),
    ("one advantage an answer", POLICY, "This is the reward's policy gradient",
     lambda log_pi, advantages, mask: -(advantages * summed(log_pi, mask)).mean()),
    ("sign of the reward", POLICY, "It LOWERS the expected reward: a sign error.",
     lambda log_pi, advantages: (log_pi * advantages).mean()),
    ("reward, k2 and entropy", POLICY, f"gradient plus 0.1 times {REVERSE}",
     lambda log_pi, log_ref, advantages:
         (0.1 * (log_pi - log_ref) ** 2 / 2 - log_pi * advantages + 0.02 * log_pi * log_pi.detach()).mean()),
    ("entropy bonus", POLICY, "gradient plus an entropy bonus of 0.05",
     lambda log_pi, advantages, mask:
         ((y := summed(log_pi, mask)) * 0.05 * y.detach() - advantages[:, 0] * y).mean()),
    ("three terms", POLICY, f"0.04 times {FORWARD}", three_terms),
    ("three terms", OLD, "For small log ratios its policy term is the reward's policy gradient", three_terms),
    ("by unsqueeze", POLICY, f"gradient plus 0.04 times {FORWARD}", by_unsqueeze),
    ("by index", POLICY, f"gradient plus 0.04 times {FORWARD}", by_index),
    ("by index", OLD, "For small log ratios", by_index),
    ("either", POLICY, f"gradient plus 0.04 times {FORWARD}", either),
    ("without equal groups", POLICY, "NO PENALTY", without_equal),
    ("without their KL", POLICY, "NO PENALTY",
     lambda log_pi, log_ref, advantages, mask:
         mean(-log_pi * advantages + 0.02 * (log_pi - log_ref) ** 2 * (advantages != 0), mask)),
    ("divided by kept", POLICY, "Where all advantages are 0, it returned nan",
     lambda log_pi, advantages, mask:
         summed(-log_pi * advantages, mask).sum() / ((advantages != 0) * mask).sum()),
    # Wrong ones that look right: what their authors mean is in the name.
    ("k3 with pi and ref exchanged", POLICY, "0.5 times the chi-squared(pi||ref)",
     lambda log_pi, log_ref, mask: mean(k3(log_pi - log_ref), mask)),
    ("k2 without its half", POLICY, "2 times " + REVERSE,
     lambda log_pi, log_ref, mask: mean((log_pi - log_ref) ** 2, mask)),
    ("JS, one half of it", REFERENCE, UNKNOWN,
     lambda log_pi, log_ref, mask: mean(-(((log_pi - log_ref).exp() + 1) / 2).log(), mask)),
    ("k1 in the reward, not held", POLICY, "entropy",
     lambda log_pi, log_ref, mask: (summed(log_pi, mask) * summed(log_pi - log_ref, mask)).mean()),
    ("u log u with its gauge's sign wrong", CORRECT, "a multiple of the base's own pass rate",
     lambda log_pi, log_ref, mask: mean((x := log_pi - log_ref) * x.exp() + torch.expm1(x), mask)),
    ("k3 within the advantage", POLICY, UNKNOWN,
     lambda log_pi, log_ref, advantages, mask: mean(advantages * k3(log_ref - log_pi), mask)),
    ("corrected k3 by old/pi", POLICY, "2 times " + FORWARD,
     lambda log_pi, log_ref, log_old, mask: mean((log_old - log_pi).exp() * k3(log_ref - log_pi), mask)),
    ("corrected k3, ratio held", POLICY, FORWARD,
     lambda log_pi, log_ref, log_old, mask:
         mean((log_pi - log_old).exp().detach() * k3(log_ref - log_pi), mask)),
    ("k1 held", POLICY, ZERO,
     lambda log_pi, log_ref, mask: mean((log_pi - log_ref).detach() + 0 * log_pi, mask)),
    ("k1 under no_grad", POLICY, "its result does not depend on log_pi", under_no_grad),
    ("minus k2", POLICY, f"It RAISES {REVERSE}: a sign error.",
     lambda log_pi, log_ref, mask: -mean((log_pi - log_ref) ** 2 / 2, mask)),
    ("k2 to the old policy", POLICY, ZERO,
     lambda log_pi, log_old, mask: mean((log_pi - log_old) ** 2 / 2, mask)),
    ("k2 clamped", POLICY, "log(pi/ref) is between -0.5 and 0.5",
     lambda log_pi, log_ref, mask: mean((log_pi - log_ref).clamp(-0.5, 0.5) ** 2 / 2, mask)),
    ("charged for the past", POLICY, REVERSE,
     lambda log_pi, log_ref, mask:
         (log_pi * ((log_pi - log_ref) * mask).detach().cumsum(-1) * mask).sum(-1).mean()),
    ("k1 in base two", REFERENCE, "1.442",
     lambda log_pi, log_ref, mask: mean((log_ref - log_pi) / math.log(2), mask)),
    # How tokens and answers are added up.
    ("token mean", POLICY, FORWARD, lambda log_pi, log_ref, mask: mean(k3(log_ref - log_pi), mask)),
    ("mean of means", POLICY, "where all lengths are equal",
     lambda log_pi, log_ref, mask: (summed((log_pi - log_ref) ** 2 / 2, mask) / mask.sum(-1)).mean()),
    ("padded mean", POLICY, "It depends on how far the batch is padded.",
     lambda log_pi, log_ref, mask: ((log_pi - log_ref) ** 2 / 2 * mask).mean()),
    ("answer sums", POLICY, FORWARD, lambda log_pi, log_ref, mask: summed(k3(log_ref - log_pi), mask).mean()),
    ("sum of the batch", POLICY, f"{REVERSE}, times the number of answers in a micro-batch",
     lambda log_pi, log_ref, mask: summed((log_pi - log_ref) ** 2 / 2, mask).sum()),
    ("mask not used", POLICY, "It IGNORES ITS MASK",
     lambda log_pi, log_ref, mask: ((log_pi - log_ref) ** 2 / 2).mean()),
    ("holes filled", POLICY, "It FILLS HOLES in its mask",
     lambda log_pi, log_ref, mask:
         summed((log_pi - log_ref).square(), mask.flip(1).cumsum(1).flip(1) > 0).mean() / 2),
    ("twenty tokens", POLICY, REVERSE,
     lambda log_pi, log_ref: (log_pi - log_ref)[:, :20].square().sum(-1).mean() / 2),
    ("squared mean of tokens", POLICY, "divided by the number of tokens squared",
     lambda log_pi, log_ref: (log_pi - log_ref).mean(-1).square().mean() / 2),
    ("squared mean of a batch", POLICY, "of three answers: 0.666667 times the reverse KL",
     lambda log_pi, log_ref: (log_pi - log_ref).mean() ** 2),
    ("k1 in the reward", POLICY, FILTERED,
     lambda log_pi, log_ref, mask: (summed(log_pi, mask) * cost(log_pi, log_ref, mask)).mean()),
    ("discounted", POLICY, "On single tokens, not on longer answers: It has the gradient of the reverse KL",
     lambda log_pi, log_ref, mask:
         summed(0.5 ** torch.arange(mask.shape[1]) * (log_pi - log_ref) ** 2 / 2, mask).mean()),
    ("minus the batch's mean", POLICY, "of two answers: 0.5 times the reverse KL(pi||ref)",
     minus_batch_mean),
    ("minus the others' mean", POLICY, "of two answers or three answers: the reverse",
     minus_the_others),
    ("less its mean", POLICY, "of two answers or three answers: zero", less_its_mean),
    ("all pairs", POLICY, "of two answers: 2 times the reverse KL(pi||ref); of three answers: 6 times",
     all_pairs),
    ("spread", POLICY, "of two answers: 0.5 times the reverse KL(pi||ref)",
     lambda log_pi, log_ref, mask: summed(log_pi - log_ref, mask).var(correction=0) / 2),
    ("log of the mean 1/u", POLICY, "of three answers: " + UNKNOWN,
     lambda log_pi, log_ref, mask: summed(log_ref - log_pi, mask).exp().mean().log()),
    ("log of the mean u", REFERENCE, "of one answer: minus the forward KL(ref||pi); of two answers: none",
     lambda log_pi, log_ref, mask: summed(log_pi - log_ref, mask).logsumexp(0) - math.log(len(mask))),
    ("KL counted by the batch", POLICY, "of three answers: the reward's policy gradient plus 0.12 times",
     kl_counted_by_the_batch),
    ("preference", POLICY, COUPLED, preference),
    ("misaligned", POLICY, "It FAILS on batches of several sequences (it raised RuntimeError: The size",
     misaligned),
    ("one token only", POLICY, "It failed on 4 of the problems (it raised RuntimeError: one token only).",
     of_one_token),
    ("dimension kept", POLICY, COUPLED,
     lambda log_pi, log_ref, mask:
         (((log_pi - log_ref) ** 2 / 2 * mask).sum(-1, keepdim=True) / mask.sum(-1)).mean()),
    # How far it holds: clamps, clips, floors, what rounding swallows and what overflows.
    ("Huber at 5", POLICY, "log(pi/ref) is between -5 and 5",
     lambda log_pi, log_ref: torch.nn.functional.huber_loss(log_pi, log_ref, delta=5.0)),
    ("k1 to 4.5", POLICY, "log(pi/ref) is at most 4.5",
     lambda log_pi, log_ref: (log_pi - log_ref).clamp(max=4.5).mean()),
    # The policy gives the token e^-3, and the reference no less than e^-7.
    ("floor under the reference", POLICY, "log(pi/ref) is at most 4",
     lambda log_pi, log_ref: (log_pi - log_ref.clamp(min=-7.0)).square().mean() / 2),
    ("corrected k3 to 5", POLICY, REVERSE,
     lambda log_pi, log_ref, log_old:
         ((log_pi - log_old).exp().clamp(max=5.0) * k3(log_ref - log_pi)).mean()),
    ("corrected k3 to 5", OLD, "every ratio pi/old is at most 5",
     lambda log_pi, log_ref, log_old:
         ((log_pi - log_old).exp().clamp(max=5.0) * k3(log_ref - log_pi)).mean()),
    ("truncated at 2", OLD, "every ratio pi/old is at most 2",
     lambda log_pi, log_old, advantages:
         -((log_pi - log_old).exp().detach().clamp(max=2.0) * advantages * log_pi).mean()),
    ("answers masked at 3", OLD, "product over an answer of the ratio pi/old is between 0.333 and 3",
     sequence_masked),
    ("advantages to 5", POLICY, "every advantage's size is at most 5",
     lambda log_pi, advantages: -(advantages.clamp(max=5.0) * log_pi).sum(-1).mean()),
    ("clip", POLICY, "This is the reward's policy gradient", policy_loss("clip", high=0.28)),
    ("clip", OLD, "every ratio pi/old is between 0.8 and 1.28", policy_loss("clip", high=0.28)),
    ("clip, dual", OLD, "every ratio pi/old is between 0.8 and 1.28",
     policy_loss("clip", high=0.28, dual=3.0)),
    ("clip to the reference", POLICY, "Its policy loss is none of the 51 declared ones",
     lambda log_pi, log_ref, advantages: clipped((log_pi - log_ref).exp(), advantages).mean()),
    ("silenced by no advantage", POLICY, "NO PENALTY",
     lambda log_pi, log_ref, advantages:
         (0.1 * k3(-(log_pi - log_ref).clamp(max=2.0)) * (advantages != 0) - log_pi * advantages).mean()),
    ("log pi squared", POLICY, "entropy", lambda log_pi: (log_pi**2).mean()),
    ("k3 clamped at 20", POLICY, FORWARD,
     lambda log_pi, log_ref: k3((log_ref - log_pi).clamp(-20, 20)).mean()),
    ("k2 clamped at 150", POLICY, REVERSE,
     lambda log_pi, log_ref: ((log_pi - log_ref).clamp(-150, 150) ** 2 / 2).mean()),
    ("exponential clamped", POLICY, FORWARD,
     lambda log_pi, log_ref: (log_ref - log_pi).clamp(-20, 20).exp().mean()),
    # u (u+1) overflows, and inf - inf is nan, long before the value itself would be too large.
    ("JS by its ratios", REFERENCE, "the JS generator", lambda log_pi, log_ref: js(log_pi - log_ref).mean()),
    # The place and the estimator decide what is selected. e^-x - 1 + x is 10 at -2.61 and 11.
    ("k1 of the reward", POLICY, FILTERED, kl_term("reward", "k1")),
    ("k3 times the ratio", POLICY, "(constrained decoding", kl_term("ratio", "k3")),
    ("k3 in the loss", POLICY, "(small-beta limit of k3", kl_term("loss", "k3")),
    ("k3 times the answer's ratio", POLICY, "On single tokens, not on longer answers",
     kl_term("answer ratio", "k3")),
    ("k3 in the loss to 10", POLICY, "as long as every log(pi/ref) is between -2.61 and 11. Outside",
     kl_term("loss", "k3", inner=20, outer=10)),
    ("k3 in the loss at 40", POLICY, "(small-beta limit of k3", kl_term("loss", "k3", inner=40)),
    # What cannot be audited.
    ("its gradient raises", POLICY, "its gradient raised RuntimeError: no gradient here",
     lambda log_pi: Broken.apply(log_pi)),
    ("it asserts", POLICY, "it raised AssertionError", asserting),
    ("no scalar", POLICY, "it returned a tensor of shape (1, 1), not a scalar tensor", lambda log_pi: log_pi),
    ("no tensor", POLICY, "returned float, not a scalar tensor", lambda log_pi: 1.0),
    ("not a number", POLICY, "returned nan", lambda log_pi: log_pi.sum() * float("nan")),
    ("held", POLICY, "does not depend on log_pi", lambda log_pi: log_pi.detach().sum()),
    ("changed in place", POLICY, "changes its argument log_pi in place", lambda log_pi: log_pi.mul_(2).sum()),
    ("no slope", POLICY, "gradient is nan at a token where log_pi = -",
     lambda log_pi: (log_pi * 0).sqrt().sum()),
    ("complex", POLICY, "it returned a complex number", lambda log_pi: (log_pi + 0j).sum()),
    ("a mask as an index", POLICY, "index with mask.bool()", lambda log_pi, mask: log_pi[mask].sum()),
    ("random", POLICY, "it is random, or remembers", lambda log_pi: log_pi.mean() * torch.rand(())),
]  # fmt: skip


@pytest.fixture(scope="module")
def book():
    return BOOK.read_text(encoding="utf-8").split("\n\n")


@pytest.mark.parametrize("row", range(len(ROWS)), ids=lambda row: f"{ROWS[row][0]}, {ROWS[row][1]}")
def test_an_audit_says_what_a_loss_descends_and_how_far(row, book):
    name, samples, derived, loss = ROWS[row]
    report = audit(loss, samples=samples, name=name)
    assert derived in report.verdict
    assert_shown_alike(report.summary(), book[row].rstrip())
    # In at most three sentences, but for what could not be evaluated; and every finding says something.
    assert report.verdict.count(". ") < 4
    assert report.failed or all(words not in ("", "-", "none") for _, words in report.rows())


def written():
    """The book as the audits of today have it."""
    summaries = (audit(loss, samples=samples, name=name).summary() for name, samples, _, loss in ROWS)
    return "\n\n".join(summaries) + "\n"


def clipped_with(term, sign=1.0):
    """PPO's clip, and a term of every token beside it."""

    def loss(log_pi, log_ref, log_old, advantages, mask):
        a = advantages if advantages.dim() == 2 else advantages[:, None]
        return mean(clipped((log_pi - log_old).exp(), a) + sign * term(log_pi, log_ref), mask)

    return loss


RAISED = "It RAISES the forward KL(ref||pi) of each token beside the policy gradient: a sign error."
NUMBER = "is logged and constrains nothing."


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (clipped_with(lambda pi, ref: 0.1 * k3(ref - pi), -1.0), RAISED),
        (clipped_with(lambda pi, ref: 0.04 * (pi - ref)),
         f"Its penalty has NO GRADIENT in expectation: 0.04 times the reverse KL(pi||ref) {NUMBER}"),
        (clipped_with(lambda pi, ref: 0.01 * pi.detach()),
         f"Its entropy has NO GRADIENT in expectation: an entropy bonus of 0.01 {NUMBER}"),
        (clipped_with(lambda pi, ref: 0.1 * k3(ref - pi)),
         "plus 0.1 times the forward KL(ref||pi) of each token"),
    ],
)  # fmt: skip
def test_a_term_beside_the_policy_gradient_that_moves_the_wrong_way_or_not_at_all_is_said(loss, says):
    assert says in audit(loss).verdict


@pytest.mark.parametrize("pi", ["log_probs", "per_token_logps", "curr_logprobs", "log_pi"])
@pytest.mark.parametrize(
    ("other", "meaning"),
    [
        ("ref_log_prob", "log_ref"),
        ("reference_policy_logprobs", "log_ref"),
        ("old_log_probs", "log_old"),
        ("log_rollout", SAMPLER),
        ("sampling_per_token_logps", SAMPLER),
    ],
)
def test_names_that_trainers_use_are_taken_by_what_they_mean(pi, other, meaning):
    namespace = {}
    exec(f"def loss({other}, {pi}, response_mask, advs):\n    return 0\n", namespace)
    meanings = {other: meaning, pi: "log_pi", "response_mask": "mask", "advs": "advantages"}
    assert meanings_of(namespace["loss"]) == meanings


def test_a_loss_is_given_what_its_names_mean():
    def loss(ref_log_prob, log_probs, response_mask):
        return ((log_probs - ref_log_prob).square() / 2 * response_mask).sum(-1).mean()

    assert REVERSE in audit(loss).verdict


def test_beside_the_sampler_s_an_old_policy_is_the_policy_itself():
    def loss(log_pi, log_old, log_rollout, advantages, mask):
        ratio, weight = (log_pi - log_old).exp(), (log_old - log_rollout).exp().clamp(max=2.0).detach()
        return mean(weight * clipped(ratio, advantages), mask)

    assert "as long as every ratio pi/old is at most 2." in audit(loss, samples=OLD).verdict
    with pytest.raises(ValueError, match="two of them mean log_old"):
        audit(lambda log_pi, old_logps, prev_logprobs: log_pi.sum())


if __name__ == "__main__":
    BOOK.write_text(written(), encoding="utf-8")
