import pytest
import torch

from dph_theory import audit
from dph_theory.losses.policy_losses import policy_loss


def corrected(log_pi, log_ref, log_old, mask):
    """TRL's corrected k3, a ratio of at most 2."""
    x = log_pi - log_ref
    ratio = (log_pi - log_old).exp().clamp(max=2.0)
    return ((ratio * ((-x).exp() - 1 + x)) * mask).sum() / mask.sum()


def k2(log_pi, log_ref, mask):
    return (((log_pi - log_ref) ** 2 / 2).clamp(max=10) * mask).sum(-1).mean()


def careless(log_pi, log_ref, mask):
    return (log_pi - log_ref).square().sum()


def raising(log_pi, log_ref, mask):
    return -k2(log_pi, log_ref, mask)


def wave(log_pi, log_ref, log_old):
    return torch.sin(40 * (log_pi - log_ref)).mean()


def by_the_batch(log_pi, log_ref, log_old, mask):
    """k1 in the reward, less its mean over the batch."""
    cost = ((log_pi - log_ref).detach() * mask).sum(-1)
    return ((log_pi * mask).sum(-1) * (cost - cost.mean())).mean()


def reward_and_k2(log_pi, log_ref, advantages, mask):
    """Each of the terms is per token."""
    return ((0.02 * (log_pi - log_ref) ** 2 - log_pi * advantages) * mask).sum() / mask.sum()


def penalised(log_pi, log_ref, advantages, mask):
    """GRPO with .1 times the KL of the whole answer in its reward."""
    kl = ((log_pi - log_ref).detach() * mask).sum(-1, keepdim=True)
    return -((advantages - 0.1 * kl) * log_pi * mask).sum(-1).mean()


def dropped(log_pi, log_ref, advantages, mask):
    """The same as slime has it: computed and not used."""
    return penalised(log_pi, log_pi, advantages, mask)


clip = policy_loss("clip")


@pytest.mark.parametrize(
    ("loss", "claimed"),
    [
        (k2, {"descends": "token reverse KL", "mask": "any"}),
        (k2, {"descends": "token reverse KL", "log_ratio": (-4, 4)}),
        (corrected, {"descends": "token reverse KL", "ratio": (0.5, 2)}),
        (clip, {"ratio": (0.8, 1.2), "advantage": 5}),
        (penalised, {"descends": "reverse KL"}),
        (reward_and_k2, {"descends": "token reverse KL"}),
        (lambda log_pi, log_ref: (log_pi - log_ref).square().sum(), {"mask": "any"}),
    ],
)
def test_a_loss_that_is_what_it_is_held_to_passes(loss, claimed):
    assert not audit.check(loss, **claimed).failed


@pytest.mark.parametrize(
    ("loss", "claimed", "words"),
    [
        (
            k2,
            {"log_ratio": (-5, 5)},
            r"log_ratio=\(-5, 5\): exact only while every log\(pi/ref\) is between -4.47 and 4.47",
        ),
        (k2, {"descends": "token forward KL"}, "its gradient is that of token sum of reverse KL"),
        (k2, {"descends": "no penalty"}, "its gradient is that of token sum of reverse KL"),
        (corrected, {"ratio": (0.5, 3)}, "exact only while every ratio pi/old is at most 2"),
        # A ratio is searched, whatever else is asked: a clip at 1.2 holds no claim of 1000.
        (clip, {"ratio": (0.9, 1000)}, "exact only while every ratio pi/old is between 0.8 and 1.2"),
        # Where nothing is exact no extent of it is.
        (wave, {"log_ratio": (-1, 1)}, "its gradient is of nothing known exactly"),
        (wave, {"ratio": (0.9, 1.1)}, "its gradient is of nothing known exactly"),
        (by_the_batch, {"log_ratio": (-1, 1)}, "it couples its batch, where no extent is searched"),
        (careless, {"mask": "any"}, "mask='any': what stands at masked tokens changes it"),
        (raising, {"descends": "token reverse KL"}, "raises .*reverse KL.*: a sign error"),
        (dropped, {"descends": "reverse KL"}, "on sequences its gradient is that of no penalty"),
        (lambda log_pi: log_pi.nope, {"descends": "no penalty"}, "could not be audited"),
    ],
)
def test_what_is_otherwise_is_said(loss, claimed, words):
    with pytest.raises(audit.CheckError, match=words):
        audit.check(loss, **claimed)


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        ({"descends": "k3"}, "descends='k3' is not allowed"),
        ({"mask": "some"}, "mask='some' is not allowed"),
        ({"ratio": (1.1, 2)}, r"ratio=\(1.1, 2\) is not allowed.*around 1"),
        ({"ratio": (0.8, 1e10)}, "what an audit searches"),
        ({"ratio": (0.8, 1.2), "samples": "policy"}, "samples='policy' is not allowed"),
        ({"log_ratio": (-100, 100)}, r"log_ratio=\(-100, 100\) is not allowed"),
        ({"advantage": 5}, "for a loss that takes advantages"),
        ({"samples": "any"}, "samples='any' is not allowed"),
    ],
)
def test_what_cannot_be_claimed_is_refused(claimed, message):
    with pytest.raises(ValueError, match=message):
        audit.check(corrected, **claimed)
