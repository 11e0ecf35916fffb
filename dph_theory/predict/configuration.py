"""From a run's whole configuration to its law: what a trainer's settings penalise, weigh, and leave inert."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..support.errors import argument_error, meant
from .reading import Configuration
from .readings import READERS
from .sampling import with_sampling
from .settings import Asked, flag, flat

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
    asked = Asked(flat(settings))
    trainer = trainer_of(asked) if trainer is None else trainer_named(trainer)
    if version is not None and trainer != "trl":
        raise argument_error("version", version, f"none for {trainer}: it is read at one commit")
    asked.version = version
    reader = READERS[trainer]
    found, clips = with_sampling(reader.read(asked), asked, reader.sampling), reader.clips
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


def trainer_of(settings: Mapping[str, Any]) -> str:
    """By which names a trainer is told: what they begin with; slime's are words joined by dashes."""
    for trainer in _ORDER:
        if any(name.startswith(READERS[trainer].begin) for name in settings):
            return trainer
    if any("-" in name and "." not in name for name in settings):
        return "slime"
    few = ", ".join(list(settings)[:4])
    raise argument_error("settings", few, f"names of one of {', '.join(READERS)}; or say the trainer")
