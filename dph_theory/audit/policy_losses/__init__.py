"""Policy losses of trainers: what each descends at first and later, and where a token's slope stops.

A policy loss multiplies advantages by some function of the ratio pi/old. At ratio one all published ones have
the gradient of the reward; they differ in how they weigh sequences of unequal length, and off the old policy.
"""

from .report import PolicyReport as PolicyReport
from .report import audit_policy_loss as audit_policy_loss
