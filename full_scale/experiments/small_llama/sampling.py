"""Runs whose answers are not the policy's own alone: their settings by name, and TRL's part."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Sampling:
    """How a run samples, and what its trainer makes of it (entries `samplers`)."""

    temperature: float = 1.0
    """Of rollouts and log-probabilities alike."""
    drawn_at: float = 1.0
    """The temperature of rollouts alone."""
    top_p: float = 1.0
    masked: bool = False
    """Whether answers that the length cuts off are out of the loss."""
    rounds: int = 1
    """How often the reference is set to the policy, the last time at the end: TRL's sync_ref_model."""

    @property
    def arguments(self) -> dict[str, Any]:
        """TRL's own."""
        mask = {"mask_truncated_completions": True} if self.masked else {}
        return {"temperature": self.temperature, "top_p": self.top_p} | mask

    def prepare(self, trainer: Any, steps: int) -> None:
        """What no argument of the trainer does, or what ours refuses since its policies have one base."""
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
