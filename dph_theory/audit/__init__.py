"""Audits of losses, advantages, metrics and trainers, by exact enumeration of small problems.

`audit` finds which divergence a loss estimates and which it minimises, at first and (on samples of an old
policy) later, `audit_advantage` what an advantage weighs and maximises, `audit_metric` whether a Pass@k is
one. Each returns a report whose `verdict` is one to three sentences; `check` tests a loss against its claim.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
