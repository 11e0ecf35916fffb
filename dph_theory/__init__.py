"""Exact mathematics of reinforcement learning with binary rewards; imports neither torch nor transformers.

Convention: D_f(pi || ref) = E_ref[f(pi/ref)], policy first. Logs are natural. Leading axes are batches.
Accuracy: pass rates of stationary policies, and the nats they cost, are right to 1e-9 (nats: relative above
1) for base rates from 1e-9 to 1 - 1e-9 and beta from 1e-6; beyond, they are limits, and never nan. The names
are those of `__init__.pyi`, each loaded at its first use, so that commands answer at once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
