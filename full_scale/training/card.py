"""Model card from the run's records: training data, method, and the policy that the run converges to."""

import json

from dph_theory.support.checking import build
from dph_theory.support.files import write_text
from dph_theory.support.table import Table

from ..evaluation.evaluated_run import Evaluation
from ..recipe.folders import Folders
from ..recipe.objective import objective_of
from ..recipe.rehearsal import rehearses
from ..recipe.schema import Recipe
from .resume import FREE
from .trained_run import TrainingRecord

CARD = "README.md"


def write_card(folders: Folders) -> None:
    """Write the card of a finished run to its model's folder, with its evaluation if there is one."""
    training = TrainingRecord.read(folders.training)
    evaluation = Evaluation.read(folders.evaluation) if folders.evaluation.is_file() else None
    write_text(folders.model / CARD, card(build(Recipe, training.config, ""), training, evaluation))


def card(recipe: Recipe, training: TrainingRecord, evaluation: Evaluation | None) -> str:
    """The model card: front matter, method and settings, the policy it converges to, and measurements."""
    front = {"base_model": recipe.model.path, "library_name": "transformers", "tags": ["trl", "grpo", "dph"]}
    arguments = {name: value for name, value in training.arguments.items() if name not in FREE}
    rehearsed = f" {len(training.rehearsed)} prompts rehearsed," if rehearses(arguments) else ""
    parts = [
        "---",
        *(f"{key}: {json.dumps(value)}" for key, value in front.items()),
        "---",
        f"# {training.run}",
        f"{recipe.model.path} trained by {training.method} for {training.steps} steps on the task "
        f"`{recipe.task.name}`:{rehearsed} {len(training.explored)} explored.",
        "",
        f"The KL penalty converges to: {objective_of(arguments)}.",
        "",
        "## Settings",
        "",
        Table.from_rows(
            ("setting", "value"), [(key, json.dumps(value)) for key, value in sorted(arguments.items())]
        ).markdown(),
        "",
        "## During training",
        *(f"- {finding}" for finding in training.findings),
    ]
    if evaluation is not None:
        summaries = {name: evaluated.summary for name, evaluated in evaluation.sets.items()}
        head = ("set", "prompts", "greedy", *(f"Pass@{k}" for k in next(iter(summaries.values())).pass_at_k))
        rows = [
            (name, str(s.prompts), *(f"{mean.value:.3f}" for mean in (s.greedy, *s.pass_at_k.values())))
            for name, s in summaries.items()
        ]
        parts += ["", "## Pass@k", "", Table.from_rows(head, rows).markdown(), ""]
    return "\n".join([*parts, ""])
