"""What a loss, an advantage, a metric or a trainer really does, by exact enumeration of small problems.

`audit` finds which divergence a loss estimates and which it minimises, at first and (on samples of an old
policy) later, `audit_advantage` what an advantage weighs and maximises, `audit_metric` whether a Pass@k is
one. Each returns a report whose `verdict` is one to three sentences; `check` tests a loss against its claim.
"""

from .advantage import AdvantageError as AdvantageError
from .advantage import AdvantageReport as AdvantageReport
from .advantage import audit_advantage as audit_advantage
from .check import CheckError as CheckError
from .check import check as check
from .loss import audit as audit
from .metric import MetricError as MetricError
from .metric import MetricReport as MetricReport
from .metric import audit_metric as audit_metric
from .report import SAMPLES as SAMPLES
from .report import AuditReport as AuditReport
from .report import Match as Match
