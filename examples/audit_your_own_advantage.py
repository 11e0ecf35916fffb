"""What does an advantage weigh? Three that look alike, by every outcome of a group.

Run: python examples/audit_your_own_advantage.py (needs torch: pip install -e ".[toy]")
"""

from torch import Tensor

from dph_theory.audit import audit_advantage


def centred(rewards: Tensor) -> Tensor:
    """The reward less the group's mean, as in Dr. GRPO."""
    return rewards - rewards.mean(dim=-1, keepdim=True)


def deviated(rewards: Tensor) -> Tensor:
    """The same over the group's deviation, as in GRPO."""
    return centred(rewards) / (rewards.std(dim=-1, keepdim=True) + 1e-4)


def averaged(rewards: Tensor) -> Tensor:
    """The same over the group's mean, as in MaxRL."""
    return centred(rewards) / rewards.mean(dim=-1, keepdim=True).clamp_min(1e-9)


def main() -> None:
    """Audit the three in groups of eight: only the first maximises the pass rate itself."""
    for advantage in (centred, deviated, averaged):
        print(audit_advantage(advantage, group_size=8).verdict, "\n")


if __name__ == "__main__":
    main()
