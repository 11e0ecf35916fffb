"""After a training: an adapter merged into its base, a model card from the records, a push to the Hub."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from huggingface_hub import HfApi
from peft import PeftModel

from dph_theory.support.checking import build
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_text
from dph_theory.support.markdown import table

from ..comparison.training_laws import training_law
from ..evaluation.record import EvaluatedSet, Evaluation, Mean
from ..models.load import load_model, load_tokenizer
from ..recipe.folders import Folders
from ..recipe.methods import setup
from ..recipe.schema import Recipe
from .record import TrainingRecord

CARD = "README.md"


def publish(run: Path, out: Path, *, merge: bool = False) -> None:
    """The trained model of a run's folder in `out`, an adapter merged if asked, with its tokenizer and card.

    ValueError for a run that is not finished, and for an `out` that holds something already.
    """
    folders = Folders.at(run)
    training = TrainingRecord.read(folders.training)
    recipe = build(Recipe, training.config, "")
    if out.exists() and any(out.iterdir()):
        raise argument_error("out", str(out), "a folder that is not there yet, or empty")
    if merge:
        merged(recipe, folders.model, out)
    else:
        shutil.copytree(folders.model, out, dirs_exist_ok=True)
    found = Evaluation.read(folders.evaluation) if folders.evaluation.is_file() else None
    write_text(out / CARD, card(recipe, training, found))


def merged(recipe: Recipe, adapter: Path, out: Path) -> None:
    """The initial model with an adapter's weights added to its own, as a folder of safetensors."""
    if not (adapter / "adapter_config.json").is_file():
        raise argument_error("merge", True, f"a run with an adapter; {adapter} holds a whole model")
    whole = PeftModel.from_pretrained(load_model(recipe.model), str(adapter)).merge_and_unload()
    whole.save_pretrained(out)
    load_tokenizer(recipe.model).save_pretrained(out)


def push(folder: Path, name: str, *, private: bool = True) -> str:
    """Send a folder to a repository of the Hub, made if it is not there, and tell its address."""
    hub = HfApi()
    hub.create_repo(name, private=private, exist_ok=True)
    return str(hub.upload_folder(repo_id=name, folder_path=folder, commit_message="Model and card"))


def card(recipe: Recipe, training: TrainingRecord, evaluation: Evaluation | None) -> str:
    """The model card: front matter, method and settings, the law it tends to, what was measured."""
    front = {"base_model": recipe.model.path, "library_name": "transformers", "tags": ["trl", "grpo", "dph"]}
    arguments = setup(recipe.method, [training.base_rates[name] for name in training.explored]).arguments
    law = training_law(arguments, recipe.train)
    rehearsed = f" {len(training.rehearsed)} prompts rehearsed," if arguments.get("eta") else ""
    parts = [
        "---",
        *(f"{key}: {json.dumps(value)}" for key, value in front.items()),
        "---",
        f"# {training.run}",
        f"{recipe.model.path} trained by {training.method} for {training.steps} steps on the task "
        f"`{recipe.task.name}`:{rehearsed} {len(training.explored)} explored.",
        "",
        "The KL penalty tends to the law: " + (f"{law}." if law else "none, there is no KL penalty."),
        "",
        "## Settings",
        "",
        table(("setting", "value"), [(key, json.dumps(value)) for key, value in sorted(arguments.items())]),
        "",
        "## During training",
        *(f"- {finding}" for finding in training.findings),
    ]
    if evaluation is not None:
        parts += ["", "## Pass@k", "", table(*_pass_at_k(evaluation.sets)), ""]
    return "\n".join([*parts, ""])


def _pass_at_k(sets: Mapping[str, EvaluatedSet]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headers and a row for each set."""
    ks = list(next(iter(sets.values())).summary.pass_at_k)
    rows = [
        (name, str(of.summary.prompts), *map(_number, (of.summary.greedy, *of.summary.pass_at_k.values())))
        for name, of in sets.items()
    ]
    return ("set", "prompts", "greedy", *(f"Pass@{k}" for k in ks)), rows


def _number(found: Mean) -> str:
    return "" if found.value is None else f"{found.value:.3f}"
