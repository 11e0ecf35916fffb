"""Prediction of a run from its settings: the pass rates that training converges to, and the held-out Pass@k.

`configuration_of` reads the settings of a trainer. The KL terms and the policies that they converge to are in
`dph_theory.losses.kl_terms`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
