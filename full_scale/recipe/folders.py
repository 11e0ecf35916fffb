"""Paths of all files and folders that the stages of a run write."""

from dataclasses import dataclass
from pathlib import Path

from dph_theory.support.errors import RefusedError

from .schema import Recipe

JOURNAL, RECORD = "rollouts.jsonl", "presample.json"
"""Files of the pre-sampling: finished batches, and the record that marks the end."""


@dataclass(frozen=True)
class Folders:
    """The folders of one recipe; all runs under `root` share the pre-sampling."""

    root: Path
    run: str

    @classmethod
    def of_recipe(cls, recipe: Recipe) -> "Folders":
        """Folders of a recipe: `<output>/<name>-seed<seed>`."""
        return cls(Path(recipe.output), f"{recipe.name}-seed{recipe.seed}")

    @classmethod
    def at(cls, run: Path) -> "Folders":
        """Folders of the run stored in this folder."""
        return cls(run.parent, run.name)

    def base(self) -> "Folders":
        """Folders of the initial model's own evaluation, beside the runs."""
        return Folders(self.root, "base")

    @property
    def presample(self) -> Path:
        """Folder of the base pass rates, D_pef and D_exp, and the rehearsal buffer."""
        return self.root / "presample"

    @property
    def run_folder(self) -> Path:
        """Folder of the run."""
        return self.root / self.run

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints from which an interrupted training resumes."""
        return self.run_folder / "checkpoints"

    @property
    def model(self) -> Path:
        """Folder of the trained model, in the format of Hugging Face."""
        return self.run_folder / "model"

    @property
    def training(self) -> Path:
        """File of the training record: recipe, versions, and the log by step."""
        return self.run_folder / "training.json"

    @property
    def evaluation(self) -> Path:
        """File of the evaluation record, which `dph validate` and the figures read."""
        return self.run_folder / "evaluation.json"

    def require(self, *stages: str) -> None:
        """Raise RefusedError for the first of these stages, `presample` or `train`, that is not finished."""
        if "presample" in stages:
            require_presampling(self.presample)
        if "train" in stages and not self.training.is_file():
            raise RefusedError(f"no training.json in {self.run_folder}: run dph train --config ...")


def require_presampling(folder: Path) -> None:
    """Raise RefusedError unless the folder has a finished pre-sampling."""
    if not (folder / RECORD).is_file():
        state = "was begun and not finished" if (folder / JOURNAL).is_file() else "has not been run"
        raise RefusedError(f"no pre-sampling in {folder}: it {state}; run dph presample --config ...")
