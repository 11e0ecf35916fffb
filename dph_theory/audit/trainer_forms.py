"""A loss of a trainer by version (or commit), file and setting."""

from dataclasses import dataclass, field

from .kl_terms import Loss


@dataclass(frozen=True)
class TrainerForm:
    """What a trainer has in its loss under one setting, and the samples that it is used with."""

    trainer: str
    version: str
    file: str
    flag: str
    formula: str
    loss: Loss = field(compare=False)
    samples: str = "policy"

    @property
    def cells(self) -> tuple[str, ...]:
        """What a table tells of it."""
        return self.trainer, self.version, self.file, self.flag, self.formula

    @property
    def name(self) -> str:
        """The trainer, its version and the setting."""
        return f"{self.trainer} {self.version}, {self.flag}"
