"""Where training ends: the stationary laws of KL-regularised reinforcement learning with binary rewards.

A *law* is the distribution over answers at which the expected update of an unrestricted policy vanishes,
as next-token tables on a prefix tree. Which law it is depends on where the penalty stands: of the whole
answer (`sequence`, with the pass rate at a given beta) or of each token at the prefixes sampled (`token`,
`response`); `limits` holds what each selects as beta -> 0, `groups` and `normalised` what a group-normalised
advantage changes, `sampled` what other samplers, references and rewards do. The names are those of
`__init__.pyi`, each loaded at its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
