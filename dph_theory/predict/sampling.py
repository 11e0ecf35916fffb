"""What a run's sampler, reference, rewards and bonuses do, in words: settings beside the KL (theory J)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..losses.kl_terms import KLTerm
from ..losses.objective import REASONS
from .configuration import Configuration
from .settings import TrainerSettings, flag

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


def with_sampling(
    configuration: Configuration, settings: TrainerSettings, names: Mapping[str, str]
) -> Configuration:
    """The configuration with what its sampling does; `names`: the trainer's own for each setting it has."""
    run = _Sampling(configuration, settings, names)
    effects = [*_temperature(run), *_truncation(run), *_engine(run), *_reference(run)]
    effects += [*_masks(run), *_rewards(run), *_age(run), *_entropy(run), *_dropped(run), *_updates(run)]
    reasons = [configuration.objective.unpredicted, *(effect.unpredicted for effect in effects)]
    sampled = replace(
        configuration,
        sampling=tuple(f"{effect.setting}: {effect.words}" for effect in effects),
        moved_by=tuple(effect.setting for effect in effects if effect.moves),
    )
    return sampled.with_objective(mixed_only=run.on("drops"), unpredicted=next(filter(None, reasons), ""))


@dataclass(frozen=True)
class _Sampling:
    """A run's settings beside its KL, by their role: `names` has the trainer's own name of each."""

    configuration: Configuration
    settings: TrainerSettings
    names: Mapping[str, str]

    @property
    def penalised(self) -> bool:
        return self.configuration.objective.coefficient > 0

    @property
    def term(self) -> KLTerm | None:
        return self.configuration.objective.term

    @property
    def in_loss(self) -> bool:
        return self.term is not None and self.term.token

    @property
    def to_go(self) -> bool:
        """Whether a token's KL weight is what is to come, which sees the sampler as the loss does."""
        return self.term is not None and self.term.place == "reward to go"

    def on(self, role: str) -> bool:
        return role in self.names and self.settings.on(self.names[role])

    def get(self, role: str) -> Any:
        return self.settings.get(self.names[role]) if role in self.names else None

    def number(self, role: str, default: float, at_least: float = 0) -> float:
        if role not in self.names:
            return default
        return self.settings.number(self.names[role], default, at_least=at_least)

    def assignments(self, *roles: str) -> str:
        """The settings as they were written, by the last part of their names."""
        names = [self.names[role] for role in roles]
        return ", ".join(f"{flag(name).rpartition('.')[2]}={self.settings.get(name)}" for name in names)


def _temperature(run: _Sampling) -> Iterator[Effect]:
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
        words += gained if trained == EVERYWHERE or not run.penalised else f"it is another policy. {base}"
        yield Effect(run.assignments("temperature"), words)
        return
    if run.to_go:
        sight = "a KL to go sees where an answer is more than one token: it converges elsewhere"
    elif run.in_loss:
        sight = "a KL in the loss sees: it converges elsewhere"
    else:
        sight = "a KL of the whole answer does not see: it converges where it did"
    words = f"another sampler than the policy whose log-probabilities train, which {sight}"
    moves = run.penalised and (run.in_loss or run.to_go)
    why = "answers are drawn at another temperature than the loss has" if moves else ""
    yield Effect(run.assignments("temperature"), words, moves, why)


def _truncation(run: _Sampling) -> Iterator[Effect]:
    share, least = run.number("top_p", 1), run.number("min_p", 0)
    count = run.number("top_k", 0, at_least=-1)
    acts = {"top_p": share < 1, "top_k": 0 < count < _ALL, "min_p": least > 0}
    if any(acts.values()):
        end = f"just above {share:g} a token, and not at 1" if share < 1 else "below 1"
        words = (
            "tokens left out are never drawn and never trained. Evaluate as you sample, or do not truncate: "
            f"without a KL the pass rate at full sampling ends {end}; with one the prediction is valid only "
            "where nothing is left out"
        )
        why = REASONS["truncation"] if run.penalised else ""
        yield Effect(run.assignments(*(role for role in acts if acts[role])), words, unpredicted=why)


def _engine(run: _Sampling) -> Iterator[Effect]:
    if run.penalised and not run.configuration.objective.sampler.startswith("the policy itself"):
        effect = "changes nothing of a KL in the reward, corrected or not"
        if run.in_loss or run.to_go:
            weight = "the whole answer's importance weight is on the KL too"
            effect = f"changes what it converges to, unless {weight}"
        words = f"what differs between its probabilities and the trainer's {effect}"
        yield Effect("engine", words, moves=False)


def _reference(run: _Sampling) -> Iterator[Effect]:
    if run.get("follows") in (None, False, 0, "false", "False"):
        return
    every, mixup = run.number("every", 0), run.number("mixup", float(run.names.get("mixed", 1)))
    if run.penalised:
        interval = f" every {every:g} steps" if every else ""
        words = (
            f"the reference follows{interval}: after m resets, each when "
            f"converged, beta acts as beta/(1 + {mixup:g} m). Many retain the base's correct answers in its "
            "proportions, whether the KL is of tokens or of answers, at a pass rate that tends to 1"
        )
        yield Effect(run.assignments("follows"), words, unpredicted=REASONS["reference"])


def _masks(run: _Sampling) -> Iterator[Effect]:
    if run.on("masks"):
        words = (
            "a truncated answer has no gradient and still counts in its group's mean: nothing limits how "
            "often answers are truncated, which can grow; watch it"
        )
        why = REASONS["masks"] if run.penalised else ""
        yield Effect(run.assignments("masks"), words, unpredicted=why)
    if run.get("length") is not None:
        words = "the reward is of the answer as it is cut there: correct, and short enough"
        yield Effect(run.assignments("length"), words, moves=False)


def _rewards(run: _Sampling) -> Iterator[Effect]:
    given = run.get("weights")
    words = given.split() if isinstance(given, str) else given
    words = words if isinstance(words, list) else [words]
    try:
        numbers = [float(word) for word in words if word is not None]
    except (TypeError, ValueError):
        numbers = [float("nan")]  # No list of numbers.
    if [number for number in numbers if number] not in ([], [1.0]):
        effect = (
            "the weighted sum r is maximised: with the KL of the answer in the reward a e^(r/beta), in which "
            "what another reward likes gains on correct answers if it weighs more than correctness"
        )
        yield Effect(run.assignments("weights"), effect, unpredicted=REASONS["rewards"])


def _age(run: _Sampling) -> Iterator[Effect]:
    behind = run.number("stale", 0)
    age = (run.configuration.objective.updates or 1.0) * (behind + 1) - 1
    if age >= 1:
        setting, step = "updates of a batch", "a smaller stable step"
        if behind:
            largest = np.sin(np.pi / (4 * age + 2))
            setting = run.assignments("stale")
            step = f"a largest stable step {largest:.2g} times that of new ones"
        words = f"answers up to {age:g} updates old: the same stationary policy, and {step}"
        yield Effect(setting, words, moves=False)


def _entropy(run: _Sampling) -> Iterator[Effect]:
    on = "entropy_on" not in run.names or run.on("entropy_on")
    if on and run.number("entropy", 0, at_least=-np.inf):
        words = (
            "an entropy bonus is a KL to the uniform policy: it lifts what is rare, incorrect answers too, "
            "and retains nothing of the base. Entropy rises with it; no stored run has one"
        )
        yield Effect(run.assignments("entropy"), words, unpredicted=REASONS["entropy"])


def _dropped(run: _Sampling) -> Iterator[Effect]:
    if run.on("drops"):
        words = "groups all correct or all incorrect are left out, and cost answers without a gradient"
        moves = run.penalised and run.in_loss
        if moves:
            words += (
                ", their KL with them: correct answers retain 1 - V^(G-1) of theirs: what is nearly solved "
                "is hardly constrained"
            )
        yield Effect(run.assignments("drops"), words, moves)


_RULES = {
    "clip_cov": "tokens whose probability and advantage go together most are left out",
    "kl_cov": "tokens whose probability and advantage go together most are constrained to the last policy",
    "gspo": "the whole answer's importance weight is clipped",
    "cispo": "the ratio is clipped and not the gradient: no token is left out",
}
"""Policy losses that trainers name, beside PPO's, and what is clipped."""


def _updates(run: _Sampling) -> Iterator[Effect]:
    """What acts from the second update on a batch alone: clips and the policy loss."""
    once = "acts from the second update on a batch: of one update, nothing"
    low, high = (run.settings.given.get(run.names.get(role, "")) for role in ("clip_low", "clip_high"))
    low = low if isinstance(low, int | float) else 0.2
    if isinstance(high, int | float) and high > low and (run.configuration.objective.updates or 1) > 1:
        setting = f"{flag(run.names['clip_high']).rpartition('.')[2]}={high}"
        words = "clip-higher lets rare tokens rise further in a batch: entropy falls later"
        yield Effect(setting, f"{words}. It retains nothing", moves=False)
    rule = run.get("rule")
    if rule is not None and str(rule) not in ("vanilla", "ppo", "regular"):
        clipped = _RULES.get(str(rule), "another policy loss than PPO's clip")
        words = f"{clipped}; {once}. It retains nothing of the base"
        yield Effect(run.assignments("rule"), words, moves=False)
    if run.get("bypass") and run.on("bypass"):
        words = "the engine's probabilities stand for the old policy's: the clipped ratio corrects them"
        yield Effect(run.assignments("bypass"), words, moves=False)
