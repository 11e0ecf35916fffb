"""Every loss once, and the objective of a run: KL terms, advantages, clips, reductions, the named methods.

Losses of this package are pure functions of log-probabilities, advantages and masks, for models of any size.
Logs are natural, u = pi/ref with the policy first. A loss is a scalar to minimise, float64 where its input
is and float32 otherwise; gradients have the input's dtype. Masked tokens contribute exactly zero. `kl_terms`,
`policy_losses` and `advantages` hold the losses of other trainers as their code computes them, overflow
included, because the audits report where that code overflows. `kl_terms` and `objective` load without torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
