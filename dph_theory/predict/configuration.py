"""From a run's whole configuration to its law: what a trainer's settings penalise, weigh, and leave inert."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..support.errors import argument_error, meant
from . import readers
from .reading import UNGROUPED, Configuration
from .sampling import with_sampling
from .settings import Asked, flag, flat


@dataclass(frozen=True)
class Reader:
    """One trainer's reader, and what trainers.toml says beside it.

    `files` were read at `version`; a setting that begins with one of `begin` tells the trainer; `group` names
    the setting of the answers a prompt; `better` are settings that put a penalty where it keeps more, the
    best first; `sampling` are the names of what `sampling.py` reads. Of settings that `read` leaves alone no
    law is changed by `harmless` ones whatever their value, by `plain` ones at some, by `clips` where a batch
    is used once.
    """

    read: Callable[[Asked], Configuration]
    title: str
    version: str
    files: str
    begin: tuple[str, ...]
    group: str
    harmless: tuple[str, ...]
    clips: tuple[str, ...]
    sampling: Mapping[str, str]
    plain: Mapping[str, Sequence[Any]]
    better: Sequence[Mapping[str, Any]] = ()


def _readers() -> dict[str, Reader]:
    rows = tomllib.loads(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))
    launcher, found = rows.pop("launcher")["harmless"], {}
    for name, row in rows.items():
        row["harmless"] += launcher
        words = {of: tuple(row[of].split()) for of in ("begin", "harmless", "clips")}
        found[name] = Reader(getattr(readers, name.replace("-", "_")), **row | words)
    return found


READERS: Mapping[str, Reader] = MappingProxyType(_readers())
"""By trainer, in lower case."""
_ORDER = ("verl", "skyrl", "prime-rl", "nemo-rl", "openrlhf", "areal", "tinker", "trl")
"""In which the trainers are looked for: some names of one begin like another's."""


def configuration_of(
    settings: Any, trainer: str | None = None, *, version: str | None = None
) -> Configuration:
    """What these settings amount to.

    Parameters: `settings`, by their trainer's own names, nested or joined by dots, such as
    {"actor_rollout_ref.actor.use_kl_loss": True}, or a GRPOConfig; `trainer`, one of `READERS` in any case,
    by default told by the names; `version`, of TRL, whose default KL changed. Settings that were not read are
    told, as harmless or not. Raises ValueError where it cannot be told, for values that are not allowed, and
    for a name that is all but one that is read.
    Source: ours, theory E1 to E4, G2, G8, B6; each trainer's code at the version told.

    >>> configuration_of({"loss_type": "dapo", "beta": 0.0}).law
    'none: nothing holds the policy to the base'
    """
    if is_dataclass(settings) and not isinstance(settings, type):
        trainer = trainer or "trl"
        given = {f.name: getattr(settings, f.name) for f in fields(settings)}
        # A GRPOConfig without the flag is older than it: the KL is plain k3.
        settings = {"use_bias_correction_kl": False, **given} if trainer == "trl" else given
    settings = flat(settings)
    trainer = trainer_of(settings) if trainer is None else trainer_named(trainer)
    if version is not None and trainer != "trl":
        raise argument_error("version", version, f"none for {trainer}: it is read at one commit")
    reader = READERS[trainer]
    asked, clips = Asked(settings, reader.title, version or reader.version), reader.clips
    found = with_sampling(reader.read(asked), asked, reader.sampling)
    # Of one answer, or with nothing subtracted, the weight is that of any group's answer less the others.
    if not found.unpredicted and found.group_size is None and found.scale != "leave_one_out":
        found = replace(found, unpredicted=f"{UNGROUPED} ({reader.group})")
    # A misspelt clip is told as one, and one that is spelt well is no slip of another name.
    plain = {**reader.plain, **dict.fromkeys(clips, ())}
    harmless, not_read = asked.rest(plain, (*reader.harmless, *clips * (found.updates == 1)))
    flags = [flag(name) for name in clips]
    later = " (a clip: it acts on later updates of a batch)"
    told = tuple(each + later * (each.partition("=")[0] in flags) for each in not_read)
    return replace(found, harmless=harmless, not_read=(*found.not_read, *told))


def trainer_named(name: str) -> str:
    """One of `READERS`, whatever the case; ValueError names the one meant."""
    found = name.lower()
    if found not in READERS:
        near = meant(found, tuple(READERS))
        allowed = f"one of {', '.join(READERS)}"
        raise argument_error("trainer", name, f"{allowed}; is {near} meant?" if near else allowed)
    return found


def trainer_of(names: Iterable[str]) -> str:
    """By which names a trainer is told: what they begin with; slime's are words joined by dashes."""
    names = tuple(names)
    for trainer in _ORDER:
        if any(name.startswith(READERS[trainer].begin) for name in names):
            return trainer
    if any("-" in name and "." not in name for name in names):
        return "slime"
    allowed = f"names of one of {', '.join(READERS)}; or say the trainer"
    raise argument_error("settings", ", ".join(names[:4]), allowed)
