"""Whether a metric is what its name says: exact expectations, against pass@k, maj@k and best@k.

A metric is a function of counts (n, c, k), or of a matrix of zeros and ones (problems, n) and k. With n
answers, each right with probability p, its expectation is summed over all Binomial(n, p) counts.
"""

from .enumeration import Metric as Metric
from .enumeration import MetricError as MetricError
from .report import MetricReport as MetricReport
from .report import audit_metric as audit_metric
