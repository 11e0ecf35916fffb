"""From a run's settings to what they amount to: whose run it is, and what is certain of it."""

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..support.errors import argument_error, closest_name
from ..support.record import flat
from . import readers
from .configuration import UNGROUPED, Configuration
from .run_files import ConfiguredRun, matching
from .sampling import with_sampling
from .settings import COMMIT, TrainerSettings, default_at, version_parts


@dataclass(frozen=True)
class Reader:
    """One trainer's reader, and what trainers.toml says beside it.

    `files` were read at `version`; `defaults` are those in place of the reader's, by the version from which
    they hold, `since` the versions from which settings are there, `ended` names by the last version that has
    them, `renamed` today's names by older ones. A run is this trainer's if its program or class is one of
    `marks`, or, in a file of settings, with `enough` of its `own` settings, which no other has; and if it
    meets all of `must`. `group` names the setting of the answers a prompt; `sampling` are the names of what
    `sampling.py` reads. Of settings that are read those of `course` change noise, speed and words alone; of
    the others no stationary policy is changed by `harmless` ones whatever their value, by `plain` ones at
    the values listed, by `clips` where a batch is used once. `coefficient`, `steps`, `rate`: the settings of
    a KL's weight in the loss, of a run's length, and of its learning rate; `retains`: settings of the kinds
    of KL that stored runs have; `resolved`: how to have the settings that a run resolves.
    """

    read: Callable[[TrainerSettings], Configuration]
    title: str
    version: str
    files: str
    own: tuple[str, ...]
    group: str
    harmless: tuple[str, ...]
    clips: tuple[str, ...]
    course: tuple[str, ...]
    sampling: Mapping[str, str]
    plain: Mapping[str, Sequence[Any]]
    resolved: str
    marks: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    enough: int = 2
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    since: Mapping[str, str] = field(default_factory=dict)
    retains: Sequence[Mapping[str, Any]] = ()
    coefficient: str = ""
    steps: str = ""
    rate: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)

    def by_name(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings by the names that are read: argparse has _ where a command line has -."""
        names = {
            name: name.replace("_", "-") for name in settings if "-" in self.group and name.isidentifier()
        }
        today = [self.renamed.get(names.get(name, name), names.get(name, name)) for name in settings]
        return dict(zip(today, settings.values(), strict=True))

    def own_settings(self, settings: Mapping[str, Any]) -> int:
        """How many settings are this trainer's own."""
        names = [name.replace("_", "-") if "-" in self.group else name for name in settings]
        texts = [f"{name}={value}" for name, value in zip(names, settings.values(), strict=True)]
        return len(matching(self.own, texts))

    def evidence(self, run: ConfiguredRun) -> tuple[int, int]:
        """How many marks, and settings of its own, show this trainer; none where they do not do."""
        own = self.own_settings(run.settings)
        texts = [*run.marks, *(f"{name}={value}" for name, value in run.settings.items())]
        complete = all(matching((pattern,), texts) for pattern in self.must)
        shown = matching(self.marks, run.marks[:1]) if run.marks else own >= self.enough
        return (1 + len(self.must), own) if shown and complete else (0, 0)


def _readers() -> tuple[Mapping[str, Reader], Mapping[str, Sequence[str]]]:
    tables = tomllib.loads(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))
    by_trainer = {}
    foreign = {name: tuple(map(str.strip, marks.split(","))) for name, marks in tables.pop("foreign").items()}
    for name, table in tables.items():
        model = table.pop("like", name)
        base = tables[model]
        row = {**base, **table}
        row |= {key: {**base[key], **row[key]} for key in ("plain", "sampling")}
        row["harmless"] = f"{base['harmless']} {row['harmless']}"
        row |= {
            key: tuple(row.get(key, "").split()) for key in ("own", "clips", "must", "harmless", "course")
        }
        row["marks"] = tuple(map(str.strip, row.get("marks", "").split(",")))
        read = getattr(readers, name.replace("-", "_"), None) or getattr(readers, model)
        by_trainer[name] = Reader(read, **row)
    return MappingProxyType(by_trainer), foreign


VERSION = "the version"
"""What is not decided where versions differ."""
READERS, FOREIGN = _readers()
"""By trainer, in lower case; what shows a trainer that is not read."""


def configuration_of(
    settings: Any, trainer: str | None = None, *, version: str | None = None
) -> Configuration:
    """What these settings amount to.

    Parameters: `settings`, by their trainer's own names, nested or joined by dots, such as
    {"actor_rollout_ref.actor.use_kl_loss": True}, or a GRPOConfig, or a run of a file; `trainer`, one of
    `READERS` in any case, by default known by the names; `version`, of the trainer, where its defaults
    changed: by default the newest, of a file's run any, so that what these differ in is not decided. What is
    not known, not read and not harmless leaves the configuration undecided, by name. Raises ValueError where
    the trainer cannot be known, for a name that was typed and nothing reads, and for values that are not
    allowed. Source: ours, entries `sequence_penalties`, `token_penalties`, `group_advantages`,
    `kl_estimators`; each trainer's code at the version named.

    >>> configuration_of({"loss_type": "dapo", "beta": 0.0}, "trl").stationary_kl
    'none: no KL to the base'
    """
    if is_dataclass(settings) and not isinstance(settings, type | ConfiguredRun):
        trainer = trainer or "trl"
        given = {field.name: getattr(settings, field.name) for field in fields(settings)}
        # A GRPOConfig without the flag is older than it: the KL is plain k3.
        settings = {"use_bias_correction_kl": False, **given} if trainer == "trl" else given
    if not isinstance(settings, ConfiguredRun):
        settings = ConfiguredRun("settings", settings=flat(settings), file=False)
    run: ConfiguredRun = settings
    name = trainer_of(run) if trainer is None else trainer_named(trainer)
    reader = READERS[name]
    if version is None:
        version = next(
            (last for old, last in reader.ended.items() if run.settings.get(old) is not None), None
        )
    else:
        _check_version(version, name, reader)
    by_name = reader.by_name(run.settings)
    typed = reader.by_name(dict.fromkeys(run.typed if run.file else ()))
    configuration = _configured(reader, by_name, version or reader.version, typed)
    return configuration if version else _of_any_version(reader, by_name, configuration, run.file)


def _check_version(version: str, trainer: str, reader: Reader) -> None:
    """ValueError for a version of which nothing is known."""
    versions = [since for default in reader.defaults.values() for since in default]
    if not versions:
        raise argument_error("version", version, f"none for {trainer}: it is read at one commit")
    if version_parts(version) == COMMIT:
        raise argument_error("version", version, "a dotted number, such as 1.16")
    first = min(versions, key=version_parts)
    if version_parts(version) < version_parts(first):
        raise argument_error("version", version, f"{first} or later: before there is nothing to read")


def _of_any_version(
    reader: Reader, settings: Mapping[str, Any], newest: Configuration, undecided: bool
) -> Configuration:
    """The newest version's configuration with what older ones differ in: a warning, or undecided."""
    given = [since for name, since in reader.since.items() if settings.get(name) is not None]
    oldest = max(given, key=version_parts, default="0")
    sinces = (since for default in reader.defaults.values() for since in default)
    versions = {max(since, oldest, key=version_parts) for since in sinces}
    objectives: list[tuple[str, str]] = []
    differing: list[Configuration] = []
    for since in () if newest.objective.undecided else sorted(versions, key=version_parts):
        configuration = _configured(reader, settings, since)
        coefficient = configuration.objective.coefficient
        words = configuration.stationary_kl.partition(";")[0].removeprefix("none: ")
        if not words.startswith("not known"):
            words += f" at {coefficient:g}" if coefficient else ""
            words += "".join(f" with {setting}" for setting in configuration.moved_by)
        if not objectives or objectives[-1][1] != words:
            objectives.append((since, words))
            differing.append(configuration)
    if len(objectives) < 2:
        return newest
    history = f"{objectives[0][1]} before {reader.title} {objectives[1][0]}"
    history += "".join(f", {words} since {since}" for since, words in objectives[1:])
    if not undecided:
        return replace(newest, warnings=(f"--trainer-version is not set: {history}.", *newest.warnings))
    by_version = tuple(differing)
    return replace(_undecided(newest, [f"{VERSION}: {history} (--trainer-version)"]), by_version=by_version)


def _undecided(configuration: Configuration, reasons: Sequence[str]) -> Configuration:
    """The configuration without what it converges to, which these decide."""
    why = f"nothing is predicted: {', '.join(reasons)}"
    decided = configuration.with_objective(unpredicted=why, undecided=tuple(reasons))
    return replace(decided, stationary_kl=why, selects=why)


def _configured(
    reader: Reader, given: Mapping[str, Any], version: str, typed: Collection[str] = ()
) -> Configuration:
    """What a reader makes of settings at a version."""
    settings = TrainerSettings(given, reader.title, version, reader.defaults)
    configuration = with_sampling(reader.read(settings), settings, reader.sampling)
    # Of one answer, or with nothing subtracted, the weight is that of any group's answer less the others.
    optimised = configuration.objective
    grouped = optimised.group_size is not None or optimised.advantage.scale == "leave_one_out"
    if not optimised.unpredicted and not grouped:
        configuration = configuration.with_objective(unpredicted=f"{UNGROUPED} ({reader.group})")
    harmless = (*reader.harmless, *(reader.clips if configuration.objective.updates == 1 else ()))
    without_effect, clips, unread = settings.unread(reader.plain, harmless, reader.clips, typed)
    for name, message in unread.items():
        if name in typed and name not in reader.plain:
            raise ValueError(f"nothing reads {message.replace(' (not read', '').removesuffix(')')}")
    deciding = {name: text for name, text in settings.undecided.items() if name not in settings.idle}
    passing = {name: text for name, text in deciding.items() if matching(reader.course, [name])}
    if passing:
        warnings = (
            *configuration.warnings,
            f"updates and sampler are not given: {', '.join(passing.values())}",
        )
        configuration = replace(configuration, warnings=warnings)
        configuration = configuration.with_objective(updates=None, sampler="not given")
    not_read = (*configuration.not_read, *clips)
    configuration = replace(configuration, harmless=tuple(without_effect), not_read=not_read)
    reasons = [*(text for name, text in deciding.items() if name not in passing), *unread.values()]
    return _undecided(configuration, reasons) if reasons else configuration


def with_change(
    settings: Mapping[str, Any], change: Mapping[str, Any], trainer: str, version: str | None
) -> Configuration | None:
    """The configuration with other settings too; None where they do not go together."""
    reader = READERS[trainer]
    for name, value in change.items() if version else ():
        absent = version_parts(version or "") < version_parts(reader.since.get(name, "0"))
        if absent and value != default_at(version or "", reader.defaults.get(name, {"0": None})):
            return None
    try:
        return configuration_of({**settings, **change}, trainer, version=version)
    except ValueError:
        return None


def minimal_change(
    change: Mapping[str, Any], suffices: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any]:
    """A change without the settings that it does not need."""
    for name in [*change]:
        without = {other: value for other, value in change.items() if other != name}
        change = without if suffices(without) else change
    return dict(change)


def trainer_named(name: str) -> str:
    """One of `READERS`, whatever the case; ValueError names the one meant."""
    if name.lower() in READERS:
        return name.lower()
    near, allowed = closest_name(name.lower(), tuple(READERS)), f"one of {', '.join(READERS)}"
    raise argument_error("trainer", name, f"{allowed}; is {near} meant?" if near else allowed)


def trainer_of(run: ConfiguredRun) -> str:
    """The trainer that the run's program or class shows, or its own settings; ValueError if none is shown."""
    evidence = {name: reader.evidence(run) for name, reader in READERS.items()}
    best, second = sorted(evidence, key=lambda name: evidence[name], reverse=True)[:2]
    texts = [*run.marks, *(f"{name}={value}" for name, value in run.settings.items())]
    foreign = [name for name, marks in FOREIGN.items() if matching(marks, texts)]
    shown = evidence[best][0] and evidence[best] > evidence[second]
    if shown and (run.marks or not foreign):
        return best
    reason = f"this is {foreign[0]}, which is not known here" if foreign else "no trainer known here"
    allowed, names = ", ".join(READERS), ", ".join([*run.settings][:6])
    raise ValueError(f"{run.where}: {reason} (--trainer: one of {allowed}); settings seen: {names}")
