"""What training converges to: the stationary policies of KL-regularised RL with binary rewards.

A stationary policy is the distribution over answers at which the expected gradient of an
unrestricted policy is zero, as next-token tables on a prefix tree. It depends on where the KL term stands: on
the whole answer (`sequence`, with the pass rate at a given beta) or on each token at the prefixes sampled
(`token`, `response`); `limits` has what each converges to as beta -> 0, `groups` and `normalised` what a
std-normalised advantage changes, `sampled` what other samplers, references and rewards do. The names are
those of `__init__.pyi`, each loaded at its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
