"""What a run's sampler, reference and rewards do to its law, in words: settings beside the KL (theory J)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .reading import FOLLOWS, Configuration
from .settings import Asked, flag

EVERYWHERE, POLICY = "policy and reference", "policy"
"""What a trainer divides by the temperature beside the rollouts' logits; nothing, where it says neither."""
_ALL = 1e5
"""A top_k from here on leaves no token out."""


class Effect(NamedTuple):
    """A setting as it stands, what it does, whether it moves the law, and why no pass rate follows, if so."""

    setting: str
    words: str
    moves: bool = True
    unpredicted: str = ""


def with_sampling(found: Configuration, asked: Asked, names: Mapping[str, str]) -> Configuration:
    """The configuration with what its sampling does; `names`: the trainer's own for each setting it has."""
    effects = [*_sampler(found, asked, names), *_reference(found, asked, names)]
    effects += [*_rewards(found, asked, names), *_age(found, asked, names)]
    why = [found.unpredicted, *(effect.unpredicted for effect in effects)]
    return replace(
        found,
        sampling=tuple(f"{effect.setting}: {effect.words}" for effect in effects),
        moved_by=tuple(effect.setting for effect in effects if effect.moves),
        unpredicted=next(filter(None, why), ""),
    )


def _value(asked: Asked, names: Mapping[str, str], of: str, default: float, at_least: float = 0) -> float:
    return asked.number(names[of], default, at_least=at_least) if of in names else default


def _said(asked: Asked, names: Mapping[str, str], *of: str) -> str:
    """The settings as they were written, by the last part of their names."""
    return ", ".join(f"{flag(names[name]).rpartition('.')[2]}={asked[names[name]]}" for name in of)


def _sampler(found: Configuration, asked: Asked, names: Mapping[str, str]) -> Iterator[Effect]:
    held, in_loss = found.coefficient > 0, found.term is not None and found.term.token
    temperature, trained = _value(asked, names, "temperature", 1), names.get("trained_at", "")
    if "trained_at_setting" in names and asked.number(names["trained_at_setting"], 1) == temperature:
        trained = EVERYWHERE
    if temperature != 1 and trained:
        words = (
            f"rollouts and log-probabilities alike: the policy at {temperature:g} is trained, and pass rates "
            "here, the base's too, are of answers drawn at it; read at 1, "
        )
        gained = f"one decision gains {temperature:g} times those log odds, as beta/{temperature:g} would"
        base = "Where the reference's logits are not divided, the base is what the reference is at 1"
        words += gained if trained == EVERYWHERE or not held else f"it is another policy. {base}"
        yield Effect(_said(asked, names, "temperature"), f"{words} (J1)")
    elif temperature != 1:
        words = "another sampler than the policy whose log-probabilities train, which a KL in the "
        end = "loss sees: its law moves" if in_loss else "reward does not see: its law stays"
        moved = held and in_loss
        why = "answers are drawn at another temperature than the loss has" if moved else ""
        yield Effect(_said(asked, names, "temperature"), f"{words}{end} (J2)", moved, why)
    share, least = _value(asked, names, "top_p", 1), _value(asked, names, "min_p", 0)
    count = _value(asked, names, "top_k", 0, at_least=-1)
    cut = {"top_p": share < 1, "top_k": 0 < count < _ALL, "min_p": least > 0}
    if any(cut.values()):
        end = f"just above {share:g} a token, and not at 1" if share < 1 else "below 1"
        words = (
            "tokens left out are never drawn and never trained. Evaluate as you sample, or do not truncate: "
            f"without a KL the pass rate at full sampling ends {end}; with one its law holds only where it "
            "has nothing to leave out (J3)"
        )
        why = "rollouts leave tokens out that the KL's law holds" if held else ""
        yield Effect(_said(asked, names, *(name for name in cut if cut[name])), words, True, why)
    if held and not found.sampler.startswith("the policy itself"):
        words = "moves this law, unless the whole answer's ratio weighs the KL as well"
        words = words if in_loss else "does not move a KL in the reward, corrected or not"
        yield Effect(
            "engine", f"what differs between its probabilities and the trainer's {words} (J2)", False
        )


def _reference(found: Configuration, asked: Asked, names: Mapping[str, str]) -> Iterator[Effect]:
    if "follows" not in names or asked.get(names["follows"]) in (None, False, 0, "false", "False"):
        return
    every, mixup = (
        _value(asked, names, "every", 0),
        _value(asked, names, "mixup", float(names.get("mixed", 1))),
    )
    if found.coefficient > 0:
        words = (
            f"the reference follows{f' every {every:g} steps' * bool(every)}: after m resets, each at its "
            f"law, beta acts as beta/(1 + {mixup:g} m). Many keep the base's right answers in its "
            "proportions, whether the KL is of tokens or of answers, at a pass rate that tends to 1 (J4)"
        )
        yield Effect(_said(asked, names, "follows"), words, True, FOLLOWS)


def _rewards(found: Configuration, asked: Asked, names: Mapping[str, str]) -> Iterator[Effect]:
    held = found.coefficient > 0
    if "masks" in names and asked.on(names["masks"]):
        words = (
            "a truncated answer pulls nothing and still counts in its group's mean: nothing holds how often "
            "answers are truncated, which can grow; watch it (J7)"
        )
        why = "truncated answers are masked: their share has a law of its own" if held else ""
        yield Effect(_said(asked, names, "masks"), words, True, why)
    if "length" in names and asked.get(names["length"]) is not None:
        words = "the verdict is on the answer as it is cut there: right, and short enough (J6)"
        yield Effect(_said(asked, names, "length"), words, False)
    given = asked.get(names["weights"]) if "weights" in names else None
    weights = _weights(given)
    if len(weights) > 1 or weights not in ([], [1.0]):
        words = (
            "the law is that of the weighted sum r: with the KL of the answer in the reward a e^(r/beta), in "
            "which what another reward likes gains on right answers if it weighs more than the verdict (J6)"
        )
        yield Effect(
            _said(asked, names, "weights"), words, True, "the verdict is not the reward, or not alone"
        )


def _weights(given: Any) -> list[float]:
    """Those that are not zero; [nan] for what is no list of numbers."""
    words = given.split() if isinstance(given, str) else given if isinstance(given, list) else [given]
    try:
        return [float(word) for word in words if word is not None and float(word) != 0]
    except (TypeError, ValueError):
        return [float("nan")]


def _age(found: Configuration, asked: Asked, names: Mapping[str, str]) -> Iterator[Effect]:
    behind, parts = _value(asked, names, "stale", 0), found.updates or 1.0
    age = parts * behind + parts - 1
    if age >= 1:
        said, step = "updates of a batch", "a smaller stable step"
        if behind:
            of_new = np.sin(np.pi / (4 * age + 2))
            said, step = (
                _said(asked, names, "stale"),
                f"a largest stable step {of_new:.2g} times that of new ones",
            )
        words = f"answers up to {age:g} updates old: the same law, and {step} (J5)"
        yield Effect(said, words, False)
