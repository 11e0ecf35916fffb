"""What a run's whole configuration means: what a trainer's settings penalise, weigh, and leave inert."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..support.errors import argument_error, meant
from . import readers
from .configuration import UNGROUPED, Configuration
from .run_files import ConfiguredRun, flat, matching
from .sampling import with_sampling
from .settings import COMMIT, TrainerSettings, UndecidedSettingError, by_version, flag, version_parts


@dataclass(frozen=True)
class Reader:
    """One trainer's reader, and what trainers.toml says beside it.

    `files` were read at `version`; `defaults` are those in place of the reader's, by the version from which
    they hold. A run is this trainer's if it has one of `marks`, or `enough` settings of `own`, and all of
    `must`. `group` names the setting of the answers a prompt; `better` are settings that put a penalty where
    it keeps more, the best first; `sampling` are the names of what `sampling.py` reads. Of settings that
    `read` leaves alone no stationary policy is changed by `harmless` ones whatever their value, by `plain`
    ones at some, by `clips` where a batch is used once, and `deciding` ones may change any. `renamed`: older
    names by today's; `coefficient`, `steps`, `rate`: the settings of a KL's weight in the loss, of a run's
    length, and of its learning rate; `retains`: settings of the kinds of KL that stored runs have; `ended`:
    names that only versions up to one have.
    """

    read: Callable[[TrainerSettings], Configuration]
    title: str
    version: str
    files: str
    own: tuple[str, ...]
    group: str
    harmless: tuple[str, ...]
    clips: tuple[str, ...]
    sampling: Mapping[str, str]
    plain: Mapping[str, Sequence[Any]]
    deciding: tuple[str, ...]
    marks: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    enough: int = 1
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    better: Sequence[Mapping[str, Any]] = ()
    retains: Sequence[Mapping[str, Any]] = ()
    coefficient: str = ""
    steps: str = ""
    rate: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)

    def evidence(self, run: ConfiguredRun, texts: Sequence[str]) -> tuple[int, int]:
        """How many marks and settings show this trainer; none where they do not do."""
        marks, own = matching(self.marks, run.marks), matching(self.own, texts)
        marked = bool(marks) and (bool(own) or any(mark.endswith("()") for mark in marks))
        enough = marked or len(own) >= (self.enough if run.where else 1)
        complete = all(matching((pattern,), [*texts, *run.marks]) for pattern in self.must)
        return (len(marks) + len(self.must), len(own)) if enough and complete else (0, 0)


def _readers() -> tuple[Mapping[str, Reader], Mapping[str, Sequence[str]]]:
    tables = tomllib.loads(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))
    launcher, by_trainer = tables.pop("launcher"), {}
    foreign = {name: tuple(map(str.strip, marks.split(","))) for name, marks in tables.pop("foreign").items()}
    for name, table in tables.items():
        model = table.pop("like", name)
        base = tables[model]
        row = {**base, **table}
        row |= {key: {**base[key], **row[key]} for key in ("plain", "sampling")}
        row |= {key: (*row.get(key, "").split(), *words.split()) for key, words in launcher.items()}
        row |= {key: tuple(row.get(key, "").split()) for key in ("own", "clips", "must")}
        row["marks"] = tuple(map(str.strip, row.get("marks", "").split(",")))
        read = getattr(readers, name.replace("-", "_"), None) or getattr(readers, model)
        by_trainer[name] = Reader(read, **row)
    return MappingProxyType(by_trainer), foreign


READERS, FOREIGN = _readers()
"""By trainer, in lower case; what shows a trainer that is not read."""
_MOST = 400
"""Of so many ways to fill in what is not given no more are tried."""
_FOR_PASS_RATES = ("scale", "baseline", "group_size", "stationary_kl", "term", "coefficient")
"""Fields of a configuration that pass rates depend on."""


def configuration_of(
    settings: Any, trainer: str | None = None, *, version: str | None = None
) -> Configuration:
    """What these settings amount to.

    Parameters: `settings`, by their trainer's own names, nested or joined by dots, such as
    {"actor_rollout_ref.actor.use_kl_loss": True}, or a GRPOConfig; `trainer`, one of `READERS` in any case,
    by default known by the names; `version`, of the trainer, where its defaults changed. Settings that were
    not read are named, as harmless or not; what follows from a value that is not given is not said.
    Raises ValueError where the trainer cannot be known, and for values that are not allowed.
    Source: ours, theory E1 to E4, G2, G8, B6; each trainer's code at the version named.

    >>> configuration_of({"loss_type": "dapo", "beta": 0.0}).stationary_kl
    'none: no KL to the base'
    """
    if is_dataclass(settings) and not isinstance(settings, type):
        trainer = trainer or "trl"
        given = {field.name: getattr(settings, field.name) for field in fields(settings)}
        # A GRPOConfig without the flag is older than it: the KL is plain k3.
        settings = {"use_bias_correction_kl": False, **given} if trainer == "trl" else given
    settings = flat(settings)
    name = trainer_of(ConfiguredRun("", (), settings)) if trainer is None else trainer_named(trainer)
    reader = READERS[name]
    if version is None:
        version = next((last for old, last in reader.ended.items() if settings.get(old) is not None), None)
    else:
        versions = [since for default in reader.defaults.values() for since in default]
        if not versions:
            raise argument_error("version", version, f"none for {name}: it is read at one commit")
        if version_parts(version) == COMMIT:
            raise argument_error("version", version, "a dotted number, such as 1.16")
        first = min(versions, key=version_parts)
        if version_parts(version) < version_parts(first):
            raise argument_error("version", version, f"{first} or later: before there is nothing to read")
    settings = {reader.renamed.get(old, old): value for old, value in settings.items()}
    configuration, names_read = _configured(reader, settings, version or reader.version, reader.defaults)
    silent = [] if version else [old for old in reader.defaults if settings.get(old) is None]
    changes = [_changed_default(reader, settings, configuration, old) for old in silent if old in names_read]
    return replace(configuration, warnings=(*filter(None, changes), *configuration.warnings))


def _changed_default(
    reader: Reader, settings: Mapping[str, Any], configuration: Configuration, name: str
) -> str:
    """What to say of a setting that is not given, if its default was another and that changes the KL."""
    newest = {other: {"0": by_version(default)[0][1]} for other, default in reader.defaults.items()}
    defaults = {**newest, name: reader.defaults[name]}
    (since, now), *earlier = by_version(reader.defaults[name])
    for version, default in earlier:
        before, _ = _configured(reader, settings, version, defaults)
        if (before.penalty, before.stationary_kl) != (configuration.penalty, configuration.stationary_kl):
            word = f"on unless {default[4:]} is" if str(default).startswith("not ") else default
            change = f"{flag(name)} is not set: {now} since {reader.title} {since}, {word} before"
            return f"{change} (then {before.penalty}). Give it, or --version."
    return ""


class _Outcome(NamedTuple):
    """What a reader makes of settings with assumed values for those that are not known."""

    assumed: Mapping[str, Any]
    configuration: Configuration
    settings: TrainerSettings


def _configured(
    reader: Reader, given: Mapping[str, Any], version: str, defaults: Mapping[str, Mapping[str, Any]]
) -> tuple[Configuration, set[str]]:
    """What a reader makes of settings at a version, and the names that it read."""
    outcomes, messages = _outcomes(reader, given, version, defaults)
    if not outcomes:
        raise ValueError("; ".join(messages.values()))
    settings = outcomes[0].settings
    settings.names_read.update(*(outcome.settings.names_read for outcome in outcomes))
    configuration = _agreed(outcomes, messages)
    # Of one answer, or with nothing subtracted, the weight is that of any group's answer less the others.
    grouped = configuration.group_size is not None or configuration.scale == "leave_one_out"
    if not configuration.unpredicted and not grouped:
        configuration = replace(configuration, unpredicted=f"{UNGROUPED} ({reader.group})")
    plain, harmless = {**reader.plain, **dict.fromkeys(reader.clips, ())}, reader.harmless
    if configuration.updates == 1:
        plain = {name: values for name, values in plain.items() if name not in reader.clips}
        harmless += reader.clips
    without_effect, possible, deciding = settings.unread(plain, harmless, reader.deciding)
    deciding += [
        message
        for name, message in messages.items()
        if "not known" in message and matching(reader.deciding, [name.lower()])
    ]
    clips = {flag(name) for name in reader.clips}
    later = " (a clip: it acts on later updates of a batch)"
    not_read = [text + later if text.partition("=")[0] in clips else text for text in possible]
    changed: dict[str, Any] = {"harmless": tuple(without_effect)}
    changed["not_read"] = (*configuration.not_read, *not_read)
    if deciding:
        why = f"nothing is predicted: {', '.join(deciding)}: not read here"
        changed |= dict.fromkeys(("stationary_kl", "selects", "unpredicted"), why)
        changed["undecided"] = tuple(deciding)
    return replace(configuration, **changed), settings.names_read


def _outcomes(
    reader: Reader, given: Mapping[str, Any], version: str, defaults: Mapping[str, Mapping[str, Any]]
) -> tuple[list[_Outcome], dict[str, str]]:
    """All that the settings may amount to, whatever is not known; what to say of it, by name."""
    outcomes, messages = list[_Outcome](), dict[str, str]()
    untried: list[dict[str, Any]] = [{}]
    while untried:
        assumed = untried.pop()
        settings = TrainerSettings(given, reader.title, version, defaults, assumed)
        try:
            configuration = with_sampling(reader.read(settings), settings, reader.sampling)
            outcomes.append(_Outcome(assumed, configuration, settings))
        except UndecidedSettingError as error:
            messages[error.name] = error.message
            if len(outcomes) < _MOST:
                untried += [{**assumed, error.name: value} for value in reversed([*error.alternatives])]
        except ValueError:
            if not assumed:
                raise
    return outcomes, messages


def _agreed(outcomes: Sequence[_Outcome], messages: Mapping[str, str]) -> Configuration:
    """What all outcomes agree on; of the rest, what to say."""
    first = outcomes[0].configuration
    changed: dict[str, Any] = {}
    for name in vars(first):
        values = [getattr(outcome.configuration, name) for outcome in outcomes]
        if all(value == values[0] for value in values):
            continue
        if isinstance(values[0], tuple):
            changed[name] = tuple(text for text in values[0] if all(text in texts for texts in values))
        elif isinstance(values[0], str):
            changed[name] = "; ".join(_deciding(outcomes, messages, name))
        else:
            changed[name] = 0.0 if name == "coefficient" else None
    decided = [name for name in _FOR_PASS_RATES if name in changed]
    if decided:
        reasons = [reason for name in decided for reason in _deciding(outcomes, messages, name)]
        changed["unpredicted"] = "; ".join(dict.fromkeys(reasons))
    if "stationary_kl" in changed or "penalty" in changed:
        name = "stationary_kl" if "stationary_kl" in changed else "penalty"
        changed["undecided"] = tuple(_deciding(outcomes, messages, name))
    warnings = [*changed.get("warnings", first.warnings)]
    for name, row in (("updates", "updates of a batch"), ("sampling", "what sampling does")):
        warnings += [f"{row}: {reason}" for reason in _deciding(outcomes, messages, name)]
    changed["warnings"] = tuple(warnings)
    return replace(first, **changed)


def _deciding(outcomes: Sequence[_Outcome], messages: Mapping[str, str], field: str) -> Iterator[str]:
    """What to say of the names on whose values a field depends."""
    for name, message in messages.items():
        by_value: dict[Any, set[str]] = {}
        for outcome in outcomes:
            field_values = by_value.setdefault(outcome.assumed.get(name), set())
            field_values.add(repr(getattr(outcome.configuration, field)))
        if len({frozenset(field_values) for field_values in by_value.values()}) > 1:
            yield message


def with_change(
    settings: Mapping[str, Any], change: Mapping[str, Any], trainer: str, version: str | None
) -> Configuration | None:
    """The configuration with other settings too; None where they do not go together."""
    try:
        return configuration_of({**settings, **change}, trainer, version=version)
    except ValueError:
        return None


def needed(change: Mapping[str, Any], suffices: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any]:
    """A change without the settings that it does not need."""
    for name in [*change]:
        without = {other: value for other, value in change.items() if other != name}
        change = without if suffices(without) else change
    return dict(change)


def trainer_named(name: str) -> str:
    """One of `READERS`, whatever the case; ValueError names the one meant."""
    if name.lower() in READERS:
        return name.lower()
    near, allowed = meant(name.lower(), tuple(READERS)), f"one of {', '.join(READERS)}"
    raise argument_error("trainer", name, f"{allowed}; is {near} meant?" if near else allowed)


def trainer_of(run: ConfiguredRun) -> str:
    """The trainer that the run's marks and settings show; ValueError where they show none."""
    texts = run.texts
    evidence = {name: reader.evidence(run, texts) for name, reader in READERS.items()}
    trainer, (marked, own) = max(evidence.items(), key=lambda entry: entry[1])
    foreign = [name for name, marks in FOREIGN.items() if matching(marks, [*run.marks, *texts])]
    if marked or (own and not foreign):
        return trainer
    reason = f"this is {foreign[0]}, which is not known here" if foreign else "no trainer known here"
    allowed, names = ", ".join(READERS), ", ".join([*run.settings][:6])
    where = run.where or "settings"
    raise ValueError(f"{where}: {reason} (--trainer: one of {allowed}); settings seen: {names}")
