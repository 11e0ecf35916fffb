"""Pass@1 up, Pass@k down, and what prevents it.

Types of prompts that share strategies, trained by exact gradients, and penalties that retain the strategies.

Entries: `falling_pass_at_k`.
"""

import lazy_loader

OPTIONS, FIGURES = (), ("pass_at_k", "sweeps", "training_curves", "kl_both_ways")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
