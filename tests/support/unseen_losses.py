"""Losses that the auditor was not made for; what each descends is derived by hand where it stands.

x = log(pi/ref), u = e^x, s = grad log pi, and E[c s] = 0 for any constant c under the policy.
"""

import torch


def mean(values, mask):
    return (values * mask).sum() / mask.sum()


def whole(values, mask):
    return (values * mask).sum(dim=1)


def held_log_ratio(log_pi, log_ref, mask):
    """E[x s] is the slope of E[x]: reverse KL, of each token's law."""
    x = log_pi - log_ref
    return mean(x * x.detach(), mask)


def mixture(log_pi, log_ref, log_old, mask):
    """0.3 k3 has the slope 0.3 E[(1 - 1/u) s], forward KL; 0.7 (pi/old) k3 that of 0.7 reverse KL."""
    x = log_pi - log_ref
    k3 = torch.exp(-x) - 1 + x
    return mean((0.3 + 0.7 * torch.exp(log_pi - log_old)) * k3, mask)


def spread(log_pi, log_ref, mask):
    """Half the variance of x over a batch of B: (1 - 1/B) E[x s], since E[x_j s_i] = 0 for other answers."""
    x = whole(log_pi - log_ref, mask)
    return ((x - x.mean()) ** 2).mean() / 2


def single_k3(log_pi, log_ref, mask):
    """k3 in 32 bits: forward KL to their rounding."""
    x = (log_pi - log_ref).float()
    return mean(torch.exp(-x) - 1 + x, mask.float())


def unmasked(log_pi, log_ref, mask):
    """k2 over all tokens, also those that do not count."""
    return ((log_pi - log_ref) ** 2 / 2).mean()


def odd_alpha(log_pi, log_ref, mask):
    """f' = (1 - u^-a)/a at a = 0.37, as the answer's cost: that alpha-divergence."""
    x = whole(log_pi - log_ref, mask).detach()
    return (whole(log_pi, mask) * (-torch.exp(-0.37 * x) / 0.37)).mean()


def triangular(log_pi, log_ref, mask):
    """f = (u - 1)^2/(u + 1), f' = (u - 1)(u + 3)/(u + 1)^2: a divergence that is not among the known."""
    u = torch.exp(whole(log_pi - log_ref, mask)).detach()
    return (whole(log_pi, mask) * (u - 1) * (u + 3) / (u + 1) ** 2).mean()


def held_ratio_k1(log_pi, log_ref, log_old, mask):
    """On old samples E_old[(pi/old) s] = E[s] = 0, while the value is reverse KL."""
    return mean(torch.exp(log_pi - log_old).detach() * (log_pi - log_ref), mask)


def u_log_u(log_pi, log_ref, mask):
    """On samples of the reference E_ref[u (x + 1) s] = E[(x + 1) s]: reverse KL."""
    x = log_pi - log_ref
    return mean(torch.exp(x) * x, mask)


def with_entropy(log_pi, advantages, mask):
    """Reward and entropy: E[log pi s] is minus the slope of the entropy."""
    y = whole(log_pi, mask)
    return (-advantages[:, 0] * y + 0.05 * y * y.detach()).mean()


def hinge(log_pi, log_ref, mask):
    """(-x)+ has the slope -E[s; u < 1], that of the sum of (ref - pi)+: total variation; none where x > 0."""
    return mean((log_ref - log_pi).clamp(min=0), mask)


def preference(log_pi, log_ref, advantages, mask):
    """A logistic loss of pairs, which a single answer does not make: none of the known."""
    if len(log_pi) % 2:
        raise ValueError("pairs are needed")
    x = whole(log_pi - log_ref, mask)
    better = torch.sign(advantages[::2, 0] - advantages[1::2, 0])
    return -torch.nn.functional.logsigmoid(better * (x[::2] - x[1::2])).mean()


def log_mean(log_pi, log_ref, mask):
    """log of the batch's mean u, on samples of the reference: forward KL ascends at B = 1, not at more."""
    x = whole(log_pi - log_ref, mask)
    return torch.logsumexp(x, dim=0) - torch.log(torch.tensor(float(len(x))))


def discounted(log_pi, log_ref, mask):
    """0.5^t k2: reverse KL on one token, and on more a sum that is not among the known."""
    weight = 0.5 ** torch.arange(mask.shape[1], dtype=log_pi.dtype)
    return whole(weight * (log_pi - log_ref) ** 2 / 2, mask).mean()


def half_k2(log_pi, log_ref, mask):
    """k2 in 16 bits: their rounding is larger than what tells divergences apart."""
    x = (log_pi.bfloat16() - log_ref.bfloat16()) ** 2 / 2
    return (x * mask.bfloat16()).sum() / mask.bfloat16().sum()
