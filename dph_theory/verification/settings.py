"""What a verification runs; nothing heavy is loaded, so that `dph verify --help` answers at once."""

from dataclasses import dataclass

from ..support.errors import argument_error, choice

CHECKS = ("kernel", "symbolic", "numeric", "adversarial", "certified", "enclosed")
"""The checks in the order in which they run."""
INSTANCES, QUICK_INSTANCES = 100_000, 1_000


@dataclass(frozen=True)
class Settings:
    """What to run: the checks by name, random instances a theorem, the seed, and the short form."""

    checks: tuple[str, ...] = CHECKS
    instances: int = INSTANCES
    seed: int = 0
    quick: bool = False

    @property
    def selected(self) -> tuple[str, ...]:
        """The checks that run: the short form decides no whole boxes."""
        return tuple(check for check in self.checks if not (self.quick and check == "enclosed"))

    def __post_init__(self) -> None:
        for check in self.checks:
            choice("checks", check, CHECKS)
        if not self.checks:
            raise argument_error("checks", self.checks, f"at least one of {', '.join(CHECKS)}")
        if self.instances < 1:
            raise argument_error("instances", self.instances, "at least 1")
        if self.seed < 0:
            raise argument_error("seed", self.seed, "at least 0")
