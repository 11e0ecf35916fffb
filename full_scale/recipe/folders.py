"""Where the stages of a run keep what they make: one place for every path."""

from dataclasses import dataclass
from pathlib import Path

from .schema import Recipe


@dataclass(frozen=True)
class Folders:
    """The folders of one recipe: the pre-sampling is shared by all runs under `root`."""

    root: Path
    run: str

    @classmethod
    def of_recipe(cls, recipe: Recipe) -> "Folders":
        """The folders of a recipe: `<output>/<name>-seed<seed>`."""
        return cls(Path(recipe.output), f"{recipe.name}-seed{recipe.seed}")

    @classmethod
    def at(cls, run: Path) -> "Folders":
        """The folders of a run that lies there."""
        return cls(run.parent, run.name)

    def base(self) -> "Folders":
        """The folders of the initial model's own evaluation, beside the runs."""
        return Folders(self.root, "base")

    @property
    def presample(self) -> Path:
        """Base pass rates, D_pef and D_exp, the rehearsal buffer."""
        return self.root / "presample"

    @property
    def run_folder(self) -> Path:
        """The run's own folder."""
        return self.root / self.run

    @property
    def checkpoints(self) -> Path:
        """What a stopped training goes on from."""
        return self.run_folder / "checkpoints"

    @property
    def model(self) -> Path:
        """The trained model, as a Hugging Face folder."""
        return self.run_folder / "model"

    @property
    def training(self) -> Path:
        """The training's record: recipe, versions, and the log by step."""
        return self.run_folder / "training.json"

    @property
    def evaluation(self) -> Path:
        """The evaluation's record, which `dph validate` and the figures read."""
        return self.run_folder / "evaluation.json"
