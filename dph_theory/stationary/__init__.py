"""Stationary policies of KL-regularised RL with binary rewards: the policies that training converges to.

A stationary policy is a distribution over answers at which the expected gradient of an unrestricted policy is
zero, given as next-token tables on a prefix tree. It depends on where the KL term acts: on the whole answer
(`sequence`, with the pass rate at a given beta) or on each token at the sampled prefixes (`token`,
`response`). `limits` has the limits as beta -> 0, `groups` and `normalised` the effect of std-normalised
advantages, `sampled` other samplers, references and rewards. Runs of finitely many steps are in
`finite_training`. The public names are listed in `__init__.pyi` and loaded at first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
