"""What an advantage weighs: its exact weight on the gradient of a prompt's pass rate, and what it maximises.

An advantage is a function of rewards (groups, G), zeros and ones, that returns as many numbers. Every outcome
of a group is enumerated. With pass rate V its expected on-policy gradient is alpha_G(V) grad V,
alpha_G(V) = E[A | right] - E[A | wrong], averaged over the group: it maximises J_G(V), the integral of
alpha_G (theory E4).
"""

from .enumeration import Advantage as Advantage
from .enumeration import AdvantageError as AdvantageError
from .enumeration import Table as Table
from .enumeration import tabulate as tabulate
from .report import AdvantageReport as AdvantageReport
from .report import audit_advantage as audit_advantage
