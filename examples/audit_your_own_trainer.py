"""What does the installed TRL descend? Its own loss, with and without one flag, and a subclass of it.

Run: python examples/audit_your_own_trainer.py (needs trl: pip install -e ".[full]"), about half a minute;
for a file of settings: dph audit trainer config.yaml
"""

from tempfile import TemporaryDirectory

from torch import Tensor
from trl import GRPOConfig, GRPOTrainer

from full_scale.audit.live_audit import audit_trainer


class Halved(GRPOTrainer):
    """A trainer whose loss is half of TRL's."""

    def compute_loss(
        self, model: object, inputs: object, return_outputs: bool = False, num_items_in_batch: object = None
    ) -> Tensor:
        """Half of it."""
        found: Tensor = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        return found / 2


def main() -> None:
    """Two settings of one flag, whose default has changed between releases, and the subclass."""
    for corrected, trainer in ((False, GRPOTrainer), (True, GRPOTrainer), (True, Halved)):
        with TemporaryDirectory() as folder:
            config = GRPOConfig(folder, beta=0.04, use_bias_correction_kl=corrected, use_cpu=True, bf16=False)
            report = audit_trainer(config, trainer)
        print(f"use_bias_correction_kl={corrected}: {report.verdict}\n")


if __name__ == "__main__":
    main()
