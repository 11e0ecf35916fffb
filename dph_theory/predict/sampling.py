"""What a run's sampler, reference, rewards and bonuses do, in words: settings beside the KL (theory J)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .reading import FOLLOWS, Configuration
from .settings import Asked, flag

EVERYWHERE = "policy and reference"
"""What a trainer divides by the temperature beside the rollouts' logits; else the policy's, or nothing."""
_ALL = 1e5
"""A top_k from here on leaves no token out."""


class Effect(NamedTuple):
    """A setting as it stands, what it does, whether it changes the limit, why no pass rate follows."""

    setting: str
    words: str
    moves: bool = True
    unpredicted: str = ""


def with_sampling(found: Configuration, asked: Asked, names: Mapping[str, str]) -> Configuration:
    """The configuration with what its sampling does; `names`: the trainer's own for each setting it has."""
    term = found.term
    in_loss, to_go = (False, False) if term is None else (term.token, term.place == "reward to go")
    run = _Run(asked, names, found.coefficient > 0, in_loss, found.sampler, found.updates or 1.0, to_go)
    effects = [*_temperature(run), *_truncation(run), *_engine(run), *_reference(run)]
    effects += [*_masks(run), *_rewards(run), *_age(run), *_entropy(run), *_dropped(run), *_updates(run)]
    why = [found.unpredicted, *(effect.unpredicted for effect in effects)]
    return replace(
        found,
        sampling=tuple(f"{effect.setting}: {effect.words}" for effect in effects),
        mixed_only=run.drops,
        moved_by=tuple(effect.setting for effect in effects if effect.moves),
        unpredicted=next(filter(None, why), ""),
    )


@dataclass(frozen=True)
class _Run:
    """The settings by what they are, whether a KL holds the policy, and how answers come."""

    asked: Asked
    names: Mapping[str, str]
    held: bool
    in_loss: bool
    sampler: str
    updates: float
    to_go: bool
    """Whether a token's KL weight is what is still to come, which sees the sampler as the loss does (M3)."""

    @property
    def drops(self) -> bool:
        """Whether groups whose verdicts agree are left out."""
        return "drops" in self.names and self.asked.on(self.names["drops"])

    def get(self, of: str) -> Any:
        return self.asked.get(self.names[of]) if of in self.names else None

    def number(self, of: str, default: float, at_least: float = 0) -> float:
        return self.asked.number(self.names[of], default, at_least=at_least) if of in self.names else default

    def said(self, *of: str) -> str:
        """The settings as they were written, by the last part of their names."""
        names = [self.names[each] for each in of]
        return ", ".join(f"{flag(name).rpartition('.')[2]}={self.asked.get(name)}" for name in names)


def _temperature(run: _Run) -> Iterator[Effect]:
    temperature, trained = run.number("temperature", 1), run.names.get("trained_at", "")
    if "trained_at_setting" in run.names and run.number("trained_at_setting", 1) == temperature:
        trained = EVERYWHERE
    if temperature == 1:
        return
    if trained:
        words = (
            f"rollouts and log-probabilities alike: the policy at {temperature:g} is trained, and pass rates "
            "here, the base's too, are of answers drawn at it; read at 1, "
        )
        gained = f"one decision gains {temperature:g} times those log-odds, as beta/{temperature:g} would"
        base = "Where the reference's logits are not divided, the base is what the reference is at 1"
        words += gained if trained == EVERYWHERE or not run.held else f"it is another policy. {base}"
        yield Effect(run.said("temperature"), words)
    else:
        words = "another sampler than the policy whose log-probabilities train, which "
        sees = "a KL in the loss sees: it converges elsewhere"
        sees = (
            "a KL to go sees where an answer is more than one token: it converges elsewhere"
            if run.to_go
            else sees
        )
        words += (
            sees
            if run.in_loss or run.to_go
            else "a KL of the whole answer does not see: it converges where it did"
        )
        moved = run.held and (run.in_loss or run.to_go)
        why = "answers are drawn at another temperature than the loss has" if moved else ""
        yield Effect(run.said("temperature"), words, moved, why)


def _truncation(run: _Run) -> Iterator[Effect]:
    share, least = run.number("top_p", 1), run.number("min_p", 0)
    count = run.number("top_k", 0, at_least=-1)
    cut = {"top_p": share < 1, "top_k": 0 < count < _ALL, "min_p": least > 0}
    if any(cut.values()):
        end = f"just above {share:g} a token, and not at 1" if share < 1 else "below 1"
        words = (
            "tokens left out are never drawn and never trained. Evaluate as you sample, or do not truncate: "
            f"without a KL the pass rate at full sampling ends {end}; with one the prediction is valid only "
            "where nothing is left out"
        )
        why = "rollouts leave tokens out that the KL would retain" if run.held else ""
        yield Effect(run.said(*(name for name in cut if cut[name])), words, True, why)


def _engine(run: _Run) -> Iterator[Effect]:
    if run.held and not run.sampler.startswith("the policy itself"):
        moves = "changes what it converges to, unless the whole answer's importance weight is on the KL too"
        words = (
            moves if run.in_loss or run.to_go else "changes nothing of a KL in the reward, corrected or not"
        )
        yield Effect("engine", f"what differs between its probabilities and the trainer's {words}", False)


def _reference(run: _Run) -> Iterator[Effect]:
    if run.get("follows") in (None, False, 0, "false", "False"):
        return
    every, mixup = run.number("every", 0), run.number("mixup", float(run.names.get("mixed", 1)))
    if run.held:
        words = (
            f"the reference follows{f' every {every:g} steps' * bool(every)}: after m resets, each when "
            f"converged, beta acts as beta/(1 + {mixup:g} m). Many retain the base's correct answers in its "
            "proportions, whether the KL is of tokens or of answers, at a pass rate that tends to 1"
        )
        yield Effect(run.said("follows"), words, True, FOLLOWS)


def _masks(run: _Run) -> Iterator[Effect]:
    if "masks" in run.names and run.asked.on(run.names["masks"]):
        words = (
            "a truncated answer has no gradient and still counts in its group's mean: nothing limits how "
            "often answers are truncated, which can grow; watch it"
        )
        why = "truncated answers are masked: what their share converges to is not known" if run.held else ""
        yield Effect(run.said("masks"), words, True, why)
    if run.get("length") is not None:
        words = "the reward is of the answer as it is cut there: correct, and short enough"
        yield Effect(run.said("length"), words, False)


def _rewards(run: _Run) -> Iterator[Effect]:
    given = run.get("weights")
    words = given.split() if isinstance(given, str) else given if isinstance(given, list) else [given]
    try:
        weights = [float(word) for word in words if word is not None and float(word) != 0]
    except (TypeError, ValueError):
        weights = [float("nan")]  # No list of numbers.
    if weights not in ([], [1.0]):
        law = (
            "the weighted sum r is maximised: with the KL of the answer in the reward a e^(r/beta), in which "
            "what another reward likes gains on correct answers if it weighs more than correctness"
        )
        yield Effect(run.said("weights"), law, True, "correctness is not the reward, or not alone")


def _age(run: _Run) -> Iterator[Effect]:
    behind = run.number("stale", 0)
    age = run.updates * (behind + 1) - 1
    if age >= 1:
        said, step = "updates of a batch", "a smaller stable step"
        if behind:
            of_new = np.sin(np.pi / (4 * age + 2))
            said, step = run.said("stale"), f"a largest stable step {of_new:.2g} times that of new ones"
        yield Effect(
            said, f"answers up to {age:g} updates old: the same stationary policy, and {step}", False
        )


def _entropy(run: _Run) -> Iterator[Effect]:
    on = "entropy_on" not in run.names or run.asked.on(run.names["entropy_on"])
    weight = run.number("entropy", 0, at_least=-np.inf) if on else 0.0
    if weight:
        words = (
            "an entropy bonus is a KL to the uniform policy: it lifts what is rare, incorrect answers too, "
            "and retains nothing of the base. Entropy rises with it; no stored run has one"
        )
        yield Effect(run.said("entropy"), words, True, "the entropy bonus changes where training converges")


def _dropped(run: _Run) -> Iterator[Effect]:
    if run.drops:
        words = "groups all correct or all incorrect are left out, and cost answers without a gradient"
        held = run.held and run.in_loss
        if held:
            words += (
                ", their KL with them: correct answers retain 1 - V^(G-1) of theirs: what is nearly solved "
                "is hardly constrained"
            )
        yield Effect(run.said("drops"), words, held)


_RULES = {
    "clip_cov": "tokens whose probability and advantage go together most are left out",
    "kl_cov": "tokens whose probability and advantage go together most are constrained to the last policy",
    "gspo": "the whole answer's importance weight is clipped",
    "cispo": "the ratio is clipped and not the gradient: no token is left out",
}
"""Policy losses that trainers name, beside PPO's, and what is clipped."""


def _updates(run: _Run) -> Iterator[Effect]:
    """What acts from the second update on a batch alone: clips and the policy loss."""
    once = "acts from the second update on a batch: of one update, nothing"
    low, high = (run.asked.settings.get(run.names.get(of, "")) for of in ("clip_low", "clip_high"))
    if (
        isinstance(high, int | float)
        and high > (low if isinstance(low, int | float) else 0.2)
        and run.updates > 1
    ):
        words = (
            "clip-higher lets rare tokens rise further in a batch: entropy falls later. It retains nothing"
        )
        yield Effect(f"{flag(run.names['clip_high']).rpartition('.')[2]}={high}", words, False)
    rule = run.get("rule")
    if rule is not None and str(rule) not in ("vanilla", "ppo", "regular"):
        known = _RULES.get(str(rule), "another policy loss than PPO's clip")
        yield Effect(run.said("rule"), f"{known}; {once}. It retains nothing of the base", False)
    if "bypass" in run.names and run.get("bypass") and run.asked.on(run.names["bypass"]):
        words = "the engine's probabilities stand for the old policy's: the clipped ratio corrects them"
        yield Effect(run.said("bypass"), words, False)
