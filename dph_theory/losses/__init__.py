"""Losses for binary rewards, and the objective of a run: KL terms, advantages, clips, the methods.

This package's own losses are pure functions of log-probabilities, advantages and masks, for models of any
size. Logarithms are natural; u = pi/ref, policy first. A loss is a scalar to minimise, float64 for float64
input and float32 otherwise; gradients have the input's dtype. Masked tokens contribute exactly zero.
`kl_terms`, `policy_losses` and `advantages` also restate the losses of other trainers as their code computes
them, overflow included, because the audits report it. `kl_terms`, `objective` and `methods` load without
torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
