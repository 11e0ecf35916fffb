"""Exact mathematics of reinforcement learning with binary rewards; imports neither torch nor transformers.

The modules here are for anyone who trains or studies such models: divergences, optimal policies under a
penalty, Pass@k, improvement bounds. Divergences are D_f(pi || ref) = E_ref[f(pi/ref)], policy first;
logarithms are natural; leading axes are batches. Pass rates of stationary policies and their cost in nats are
accurate to 1e-9 (relative above 1 nat) for base rates from 1e-9 to 1 - 1e-9 and beta from 1e-6; beyond that
range functions return limits, never nan. The public names are listed in `__init__.pyi` and loaded at first
use. Training of large models is in `full_scale`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
