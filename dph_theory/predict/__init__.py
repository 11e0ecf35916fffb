"""What a run's settings will do: the pass rates that they lead to, and when.

`configuration_of` reads the settings of nine trainers; the KL terms and what they converge
to stand in `dph_theory.losses.kl_terms`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
