"""Which divergence does a loss of yours descend? Two penalties that look alike, audited by exact enumeration.

Run: python examples/audit_your_own_loss.py (needs torch: pip install -e ".[toy]")
"""

from torch import Tensor

from dph_theory.audit import audit


def penalty(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The k3 estimate of KL(pi||ref), as many trainers add it to their loss."""
    log_r = log_ref - log_pi
    return ((log_r.exp() - 1 - log_r) * mask).sum() / mask.sum()


def weighted_penalty(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
    """The same, times the importance ratio pi/old, through which the gradient flows too."""
    log_r = log_ref - log_pi
    k3 = log_r.exp() - 1 - log_r
    return ((log_pi - log_old).exp() * k3 * mask).sum() / mask.sum()


def main() -> None:
    """Audit both on samples of the policy; the arguments they name are what they are given."""
    for loss in (penalty, weighted_penalty):
        report = audit(loss, samples="policy")
        print(report.verdict)
        print(f"  value: {report.value.name}; gradient: {report.gradient.name}\n")


if __name__ == "__main__":
    main()
