"""The task as files: databases, questions in sets, the initial model; built once, loaded by every stage."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import write_json
from dph_theory.support.progress import Progress, silent

from ...recipe.schema import TaskConfig
from ..protocol import Prompt, Task
from ..verifiers.pool import with_options
from ..verifiers.sql import SqlVerifier
from .model import STYLES, Architecture, Habits, learn, llama, style_of, word_tokenizer, written
from .questions import (
    FAMILIES,
    OTHER_FAMILY,
    STATES,
    Domain,
    Question,
    domains,
    questions,
    states,
    write_database,
)

TASK, MODEL, DATABASES = "task.json", "model", "databases"


@dataclass(frozen=True)
class Size:
    """How large a task to build; every question is asked of each of its domain's databases."""

    domains: int = 3
    """The last one is for the cross-domain set only."""
    tables: int = 2
    """Tables of a domain."""
    copies: int = 1
    """Databases of a domain, in tens: how many times each table goes through STATES."""
    train: int = 20
    """Questions to train on; each gives 10 * copies prompts."""
    evaluation: int = 16
    """Questions of each evaluation set."""
    habits: Habits = field(default_factory=Habits)
    architecture: Architecture = field(default_factory=Architecture)

    def __post_init__(self) -> None:
        if self.domains < 2:
            raise argument_error(
                "domains", self.domains, "at least 2: one to train on, one for the cross-domain set"
            )
        for name in ("tables", "copies", "train", "evaluation"):
            if getattr(self, name) < 1:
                raise argument_error(name, getattr(self, name), "a whole number, at least 1")


def build(folder: Path, size: Size | None = None, *, seed: int = 0, progress: Progress | None = None) -> Path:
    """Write databases, questions and the initial model into a folder, all or nothing; the model's folder.

    Deterministic in size and seed. A folder that holds this very task already is left as it is; ValueError
    for one that holds anything else.
    """
    size, tell = size or Size(), progress or silent
    identity = {"size": json.loads(json.dumps(asdict(size))), "seed": seed}
    if folder.exists():
        if _identity(folder) != identity:
            raise argument_error(
                "folder", str(folder), "an empty place, or this very task (size and seed) built before"
            )
        return folder / MODEL
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    sets = _sets(size, seed)
    _write_databases(part, size, seed, tell)
    model, tokenizer, loss = _trained(size, seed, tell)
    model.save_pretrained(part / MODEL, safe_serialization=True)
    tokenizer.save_pretrained(part / MODEL)
    examples = {name: [asdict(example) for example in chosen] for name, chosen in sets.items()}
    write_json(part / TASK, {"identity": identity, "loss": loss, "sets": examples})
    part.replace(folder)
    return folder / MODEL


def load(config: TaskConfig) -> Task:
    """The task that `build` wrote into the folder `config.data`; options are SqlVerifier's limits.

    Sets: `in_domain` asks other questions of the same databases, `cross_domain` asks other databases,
    `out_of_domain` asks questions of a kind that is not trained on. RefusedError if the folder holds no task.
    """
    folder = Path(config.data or "")
    if not config.data:
        raise argument_error("task.data", config.data, "the folder that dph demo builds the task in")
    if not (folder / TASK).is_file():
        raise RefusedError(f"no {TASK} in {folder}: run dph demo, which builds it (--folder says where)")
    stored = json.loads((folder / TASK).read_text(encoding="utf-8"))["sets"]
    for entry in chain.from_iterable(stored.values()):
        entry["reference"]["database"] = str(folder.resolve() / entry["reference"]["database"])
    sets = {name: [Prompt(**entry) for entry in entries] for name, entries in stored.items()}
    return Task(
        name="tiny-sql",
        train=sets.pop("train"),
        evaluation=sets,
        verifier=with_options(SqlVerifier, config.options, "task.options.", style=style_of),
        repeats_prompts=True,
    )


def _questions(chosen_domains: Iterable[Domain], families: Sequence[str]) -> list[tuple[Domain, Question]]:
    """Every question of these families that can be asked in these domains, in a fixed order."""
    return [
        (domain, question)
        for domain in chosen_domains
        for table in domain.tables
        for family in families
        for question in questions(table, family)
    ]


def _sets(size: Size, seed: int) -> dict[str, list[Prompt]]:
    *trained, other = domains(size.domains, size.tables)
    rng = np.random.default_rng([seed, 1])

    def drawn(
        count: int, chosen_domains: Sequence[Domain], families: Sequence[str]
    ) -> list[tuple[Domain, Question]]:
        available = _questions(chosen_domains, families)
        if len(available) < count:
            raise argument_error(
                "questions", count, f"at most {len(available)} with so few domains and tables"
            )
        return [available[i] for i in rng.permutation(len(available))[:count]]

    inside = drawn(size.train + size.evaluation, trained, FAMILIES)
    chosen = {
        "train": inside[: size.train],
        "in_domain": inside[size.train :],
        "cross_domain": drawn(size.evaluation, [other], FAMILIES),
        "out_of_domain": drawn(size.evaluation, trained, [OTHER_FAMILY]),
    }
    return {
        name: [example for pair in pairs for example in _examples(*pair, size, seed)]
        for name, pairs in chosen.items()
    }


def _examples(domain: Domain, question: Question, size: Size, seed: int) -> list[Prompt]:
    """The question asked of every database of its domain: one text, each time with its own right answer."""
    by_table = states(domain, size.copies, seed)
    names = [domain.database(index) for index in range(size.copies * len(STATES))]
    return [
        Prompt(
            id=f"{name}: {question.table.name} {question.words}",
            prompt=question.prompt,
            reference={
                "database": f"{DATABASES}/{name}/{name}.sqlite",
                "query": question.gold(by_table[name, question.table.name]),
            },
        )
        for name in names
    ]


def _write_databases(folder: Path, size: Size, seed: int, progress: Progress) -> None:
    count = size.copies * len(STATES)
    for number, domain in enumerate(domains(size.domains, size.tables)):
        for index in range(count):
            name = domain.database(index)
            path = folder / DATABASES / name / f"{name}.sqlite"
            write_database(path, domain, size.copies, index, seed)
            progress("databases", number * count + index + 1, size.domains * count)


def _trained(size: Size, seed: int, progress: Progress) -> tuple[Any, Any, float]:
    """The initial model, which knows every kind of question in every domain, and its tokenizer."""
    all_questions = [q for _, q in _questions(domains(size.domains, size.tables), (*FAMILIES, OTHER_FAMILY))]
    answers = (written(style, q.table.thing, q.source) for q in all_questions for style in STYLES)
    tokenizer = word_tokenizer([*(question.prompt for question in all_questions), *answers])
    model = llama(tokenizer, size.architecture, seed)
    loss = learn(model, tokenizer, all_questions, size.habits, size.architecture, seed, progress)
    return model, tokenizer, loss


def _identity(folder: Path) -> Any:
    path = folder / TASK
    return json.loads(path.read_text(encoding="utf-8")).get("identity") if path.is_file() else None
