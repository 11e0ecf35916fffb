"""Samplers other than the policy itself: settings by name, and their implementation in TRL."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Sampling:
    """Sampling of a run, and its use by the trainer (entries `samplers`)."""

    temperature: float = 1.0  # Of rollouts and log-probabilities.
    drawn_at: float = 1.0  # Temperature of rollouts only.
    top_p: float = 1.0
    masked: bool = False  # Are truncated answers excluded from the loss?
    rounds: int = 1  # Resets of the reference to the policy, the last at the end: TRL's sync_ref_model.

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of TRL's trainer for temperature, top_p and truncated answers."""
        mask = {"mask_truncated_completions": True} if self.masked else {}
        return {"temperature": self.temperature, "top_p": self.top_p} | mask

    def prepare(self, trainer: Any, steps: int) -> None:
        """Set on a trainer what no argument sets: the engine's temperature, and resets of the reference."""
        trainer.generation_config.temperature = self.temperature * self.drawn_at
        if self.rounds > 1:
            from trl.trainer.callbacks import SyncRefModelCallback

            trainer.args.ref_model_sync_steps = steps // self.rounds
            trainer.args.ref_model_mixup_alpha = 1.0
            trainer.add_callback(
                SyncRefModelCallback(ref_model=trainer.ref_model, accelerator=trainer.accelerator)
            )


SAMPLINGS: Mapping[str, Sampling] = MappingProxyType(
    {
        "temperature .7": Sampling(temperature=0.7),
        "temperature 1.3": Sampling(temperature=1.3),
        "drawn at .6": Sampling(drawn_at=0.6),
        "top-p .9": Sampling(top_p=0.9),
        "top-p .7": Sampling(top_p=0.7),
        "five references": Sampling(rounds=5),
        "masked": Sampling(masked=True),
    }
)
