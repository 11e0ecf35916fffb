"""What a run's whole configuration means: what a trainer's settings penalise, weigh, and leave inert."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..support.errors import argument_error, meant
from . import readers
from .reading import UNGROUPED, Configuration
from .sampling import with_sampling
from .settings import COMMIT, Asked, Open, by_version, flag, numbers
from .sources import Run, flat, met


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

    read: Callable[[Asked], Configuration]
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

    def todays(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings by today's names."""
        return {self.renamed.get(name, name): value for name, value in settings.items()}

    def met(self, run: Run, texts: Sequence[str]) -> tuple[int, int]:
        """How many marks and settings show this trainer; none where they do not do."""
        marks, own = met(self.marks, run.marks), met(self.own, texts)
        enough = len(own) >= (self.enough if run.where else 1) or (
            marks and (own or any(mark.endswith("()") for mark in marks))
        )
        held = all(met((must,), [*texts, *run.marks]) for must in self.must)
        return (len(marks) + len(self.must), len(own)) if enough and held else (0, 0)


def _readers() -> tuple[dict[str, Reader], dict[str, str]]:
    rows = tomllib.loads(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))
    common, foreign, found = rows.pop("launcher"), rows.pop("foreign"), {}
    for name, row in rows.items():
        like = row.pop("like", name)
        row = {**rows[like], **row}
        row |= {of: {**rows[like][of], **row[of]} for of in ("plain", "sampling")}
        words = {of: (*row.get(of, "").split(), *common.get(of, "").split()) for of in common}
        words |= {of: tuple(row.get(of, "").split()) for of in ("own", "clips", "must")}
        words["marks"] = _listed(row.get("marks", ""))
        read = getattr(readers, name.replace("-", "_"), None) or getattr(readers, like)
        found[name] = Reader(read, **row | words)
    return found, foreign


def _listed(words: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in words.split(","))


_READERS, FOREIGN = _readers()
READERS: Mapping[str, Reader] = MappingProxyType(_READERS)
"""By trainer, in lower case."""
_MOST = 400
"""Of so many ways to fill in what is not told no more are tried."""


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

    >>> configuration_of({"loss_type": "dapo", "beta": 0.0}).law
    'none: no KL to the base'
    """
    if is_dataclass(settings) and not isinstance(settings, type):
        trainer = trainer or "trl"
        given = {f.name: getattr(settings, f.name) for f in fields(settings)}
        # A GRPOConfig without the flag is older than it: the KL is plain k3.
        settings = {"use_bias_correction_kl": False, **given} if trainer == "trl" else given
    settings = flat(settings)
    name = trainer_of(Run("", (), settings)) if trainer is None else trainer_named(trainer)
    reader = READERS[name]
    if version is not None and not reader.defaults:
        raise argument_error("version", version, f"none for {name}: it is read at one commit")
    if version is not None and numbers(version) == COMMIT:
        raise argument_error("version", version, "a dotted number, such as 1.16")
    first = min((of for each in reader.defaults.values() for of in each), key=numbers, default="0")
    if version is not None and numbers(version) < numbers(first):
        raise argument_error("version", version, f"{first} or later: before there is nothing to read")
    old = [of for of in reader.ended if settings.get(of) is not None]
    if version is None and old:
        version = reader.ended[old[0]]
    settings = reader.todays(settings)
    found, asked = _told(reader, settings, version or reader.version)
    silent = [] if version else [each for each in reader.defaults if settings.get(each) is None]
    lines = []
    for each in set(silent) & asked.known:
        (_, now), *others = by_version(reader.defaults[each])
        since = by_version(reader.defaults[each])[0][0]
        for first, value in others:
            then, _ = _told(reader, settings, first, only=each)
            if (then.penalty, then.law) != (found.penalty, found.law):
                before = f"on unless {value[4:]} is" if str(value).startswith("not ") else value
                said = f"{flag(each)} is not set: {now} since {reader.title} {since}, {before} before"
                lines.append(f"{said} (then {then.penalty}). Give it, or --version.")
                break
    return replace(found, warnings=(*lines, *found.warnings))


def _told(
    reader: Reader, settings: Mapping[str, Any], version: str, only: str = ""
) -> tuple[Configuration, Asked]:
    """What a reader makes of settings at a version (of one default alone), and what it asked for."""
    newest = {} if not only else {of: {"0": by_version(them)[0][1]} for of, them in reader.defaults.items()}
    defaults = {**reader.defaults, **newest, **({only: reader.defaults[only]} if only else {})}
    ways: list[tuple[dict[str, Any], Configuration, Asked]] = []
    words: dict[str, str] = {}

    def ask(supposed: dict[str, Any]) -> None:
        asked = Asked(settings, reader.title, version, defaults, supposed)
        try:
            ways.append((supposed, with_sampling(reader.read(asked), asked, reader.sampling), asked))
        except Open as error:
            words[error.name] = error.words
            for value in error.may_be if len(ways) < _MOST else ():
                ask({**supposed, error.name: value})
        except ValueError:
            if not supposed:
                raise

    ask({})
    if not ways:
        raise ValueError("; ".join(words.values()))
    asked = ways[0][2]
    asked.known.update(*(way.known for _, _, way in ways))
    found = _alike([(supposed, way) for supposed, way, _ in ways], words)
    # Of one answer, or with nothing subtracted, the weight is that of any group's answer less the others.
    if not found.unpredicted and found.group_size is None and found.scale != "leave_one_out":
        found = replace(found, unpredicted=f"{UNGROUPED} ({reader.group})")
    plain = {**reader.plain, **dict.fromkeys(reader.clips, ())}
    used_once = reader.clips * (found.updates == 1)
    for name in used_once:
        plain.pop(name)
    harmless, not_read, decide = asked.rest(plain, (*reader.harmless, *used_once), reader.deciding)
    decide += [of for name, of in words.items() if "not known" in of and met(reader.deciding, [name.lower()])]
    later = " (a clip: it acts on later updates of a batch)"
    clips = [flag(name) for name in reader.clips]
    told = tuple(each + later * (each.partition("=")[0] in clips) for each in not_read)
    found = replace(found, harmless=tuple(harmless), not_read=(*found.not_read, *told))
    if decide:
        why = f"nothing is predicted: {', '.join(decide)}: not read here"
        found = replace(found, law=why, selects=why, unpredicted=why, undecided=tuple(decide))
    return found, asked


def _alike(
    ways: Sequence[tuple[Mapping[str, Any], Configuration]], words: Mapping[str, str]
) -> Configuration:
    """What all ways to fill in what is not told agree on; of the rest, what to tell."""
    changed: dict[str, Any] = {}
    _, first = ways[0]
    for each in fields(Configuration):
        if all(getattr(way, each.name) == getattr(first, each.name) for _, way in ways):
            continue
        values = [getattr(way, each.name) for _, way in ways]
        if isinstance(values[0], tuple):
            changed[each.name] = tuple(text for text in values[0] if all(text in of for of in values))
        elif isinstance(values[0], str):
            changed[each.name] = "; ".join(_moving(ways, words, each.name))
        else:
            changed[each.name] = 0.0 if each.name == "coefficient" else None
    deciding = {"law", "coefficient", "term", "scale", "baseline", "group_size"} & set(changed)
    if deciding:
        changed["unpredicted"] = "; ".join(
            dict.fromkeys(of for name in deciding for of in _moving(ways, words, name))
        )
    if {"law", "penalty"} & set(changed):
        changed["undecided"] = tuple(_moving(ways, words, "law" if "law" in changed else "penalty"))
    rows = {"updates": "updates of a batch", "sampling": "what sampling does"}
    asks = [f"{row}: {of}" for name, row in rows.items() for of in _moving(ways, words, name)]
    changed["warnings"] = (*changed.get("warnings", first.warnings), *asks)
    return replace(first, **changed)


def _moving(
    ways: Sequence[tuple[Mapping[str, Any], Configuration]], words: Mapping[str, str], field: str
) -> Iterator[str]:
    """What is said of the names on whose values a field depends."""
    for name, said in words.items():
        by_value: dict[Any, set[str]] = {}
        for supposed, way in ways:
            by_value.setdefault(supposed.get(name), set()).add(repr(getattr(way, field)))
        if len({frozenset(of) for of in by_value.values()}) > 1:
            yield said


def trainer_named(name: str) -> str:
    """One of `READERS`, whatever the case; ValueError names the one meant."""
    found = name.lower()
    if found not in READERS:
        near = meant(found, tuple(READERS))
        allowed = f"one of {', '.join(READERS)}"
        raise argument_error("trainer", name, f"{allowed}; is {near} meant?" if near else allowed)
    return found


def trainer_of(run: Run) -> str:
    """The trainer that the run's marks and settings show; ValueError where they show none."""
    texts = run.texts
    told = {name: reader.met(run, texts) for name, reader in READERS.items()}
    best = max(told, key=lambda name: told[name])
    strange = [name for name, marks in FOREIGN.items() if met(_listed(marks), [*run.marks, *texts])]
    if any(told[best]) and not (strange and not told[best][0]):
        return best
    said = f"this is {strange[0]}, which is not known here" if strange else "no trainer known here"
    seen = ", ".join([*run.settings][:6])
    raise ValueError(
        f"{run.where or 'settings'}: {said} (--trainer: one of {', '.join(READERS)}); settings seen: {seen}"
    )
