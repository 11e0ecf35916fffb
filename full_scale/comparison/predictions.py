"""Which law of training a run's settings lead to, and the numbers that theory gives for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dph_theory import DIVERGENCES, FORWARD_KL, REVERSE_KL, alpha_divergence
from dph_theory.fdivergence import FDivergence
from dph_theory.laws import group_weight, normalised_validity_at

from .measurements import EXPLORED, REHEARSED, MeasuredRun, PairedSet, distance_to_tilt, log_odds_gain
from .verdicts import LOG_ODDS, NATS, RATE, Held, Line, MeanEstimate, Sign, mean

GROUP_SIZE = 8
"""TRL's `num_generations` where a recipe sets none."""


@dataclass(frozen=True)
class RunLaw:
    """A penalty beta D(pi || ref) of whole sequences or of each token, beside a group-relative advantage."""

    place: str
    """`sequence` (the KL of the whole answer in the reward) or `token` (a KL in the loss)."""
    divergence: FDivergence
    beta: float
    scale: str
    """The advantage form, one of `dph_theory.laws.SCALES`."""
    group_size: int

    def __str__(self) -> str:
        only = "" if self.place == "sequence" else ", where one token decides validity"
        return f"{self.place} {self.divergence.name}{only}"

    @property
    def theory(self) -> str:
        """The statement of the theory that gives the law."""
        if self.scale in ("std", "population_std"):
            return "E4"
        return "A5" if self.place == "sequence" else "E2"

    @property
    def is_tilt(self) -> bool:
        """Whether the law is a exp(v w/beta)/Z with one weight w for all prompts."""
        return self.divergence == REVERSE_KL and self.scale in ("none", "leave_one_out")

    @property
    def weight(self) -> float:
        """The weight w of a law that is a tilt: that of the advantage, whatever the validity (E4)."""
        return float(group_weight(self.group_size, 0.5, self.scale))

    def validity(self, base_rate: Float[np.ndarray, " prompts"]) -> Float[np.ndarray, " prompts"]:
        """The validity of each prompt at the law, from its base rate."""
        return normalised_validity_at(base_rate, self.beta, self.group_size, self.scale, self.divergence)


def training_law(arguments: Mapping[str, Any], train: Mapping[str, Any]) -> RunLaw | None:
    """The law of a run by the trainer's arguments (`methods.setup`) and `train:` settings; None without KL.

    The corrected k3 descends the reverse KL of tokens, the plain k3 the forward one (B6). Where the KL is in
    the reward, both are centred by the mean of the group's others; TRL's own advantage without scaling is
    centred by the mean of all.
    """
    size = int(train.get("num_generations") or GROUP_SIZE)
    if arguments.get("online") == "sequence_kl":
        beta = float(arguments["online_coefficient"])
        return RunLaw("sequence", REVERSE_KL, beta, "leave_one_out", size) if beta else None
    if not arguments.get("beta"):
        return None
    divergence = REVERSE_KL if arguments["use_bias_correction_kl"] else FORWARD_KL
    scale = "none" if arguments["scale_rewards"] == "none" else "std"
    return RunLaw("token", divergence, float(arguments["beta"]), scale, size)


def predictions(run: MeasuredRun) -> list[Line]:
    """Every prediction that the run's method and records allow."""
    held: list[tuple[str, Held]] = []
    if EXPLORED in run.sets:
        held += [(EXPLORED, one) for one in stationary_law(run, run.sets[EXPLORED])]
    if REHEARSED in run.sets:
        held += [(REHEARSED, one) for one in rehearsed_mass(run.sets[REHEARSED], run.arguments)]
    return [one.line(run.name, where) for where, one in held]


def stationary_law(run: MeasuredRun, here: PairedSet) -> Iterator[Held]:
    """The law at which the run's penalty comes to rest, on the prompts trained on (A5, A9, E1, E2, E4, E5).

    Prompts of one text are one prompt whose verifier is the mean of their verdicts.
    """
    law = training_law(run.arguments, run.train)
    if law is None:
        return
    note = f"{law}; 1/beta = {1 / law.beta:.3g}, {run.training.steps} steps"
    if law.is_tilt:
        yield from _tilt(here, law, note)
    elif here.texts_differ:
        predicted = law.validity(here.smoothed_base_rate)
        # Of a prompt that no base sample solved, or all did, the base's rate may as well be 0 or 1.
        never, always = ~here.base_correct.any(axis=1), here.base_correct.all(axis=1)
        unsure = np.where(never, predicted, np.where(always, 1 - predicted, 0))
        yield Held(
            name="validity",
            theory=law.theory,
            estimate=float(here.rate.mean()),
            relation="==",
            prediction=float(predicted.mean()),
            gap=mean(here.rate - predicted, bias=float(unsure.mean())),
            resolution=RATE,
            detail=note,
        )
    target = run.method.mu
    if target is not None and here.texts_differ:
        yield Held(
            name="target validity",
            theory="A9",
            estimate=float(here.rate.mean()),
            relation="==",
            prediction=target,
            gap=mean(here.rate - target),
            resolution=RATE,
        )


def _tilt(here: PairedSet, law: RunLaw, note: str) -> Iterator[Held]:
    """What pi = a exp(v/b)/Z implies, v being the mean verdict: how much odds grow, and no distance left."""
    texts, rate = here.by_text(), law.weight / law.beta
    if not texts:
        return
    gain = log_odds_gain(texts)
    yield Held(
        name="log odds gain",
        theory=law.theory,
        estimate=gain.value,
        relation="==",
        prediction=rate,
        gap=MeanEstimate(gain.value - rate, gain.standard_error, gain.units),
        resolution=LOG_ODDS,
        detail=note,
    )
    if law.place == "sequence":
        distance = distance_to_tilt(texts, rate)
        yield Held(
            name="KL to the law",
            theory=law.theory,
            estimate=distance.value,
            relation="==",
            prediction=0.0,
            gap=distance,
            resolution=NATS,
            detail=note,
        )


def rehearsed_mass(here: PairedSet, arguments: Mapping[str, Any]) -> Iterator[Held]:
    """The valid mass on rehearsed prompts, where the gauge of f decides what rehearsal aims at (B3).

    -log u aims at p_*, mass 1: the mass does not fall below the base's. A generator that vanishes with its
    slope at u = 1 (k3; JS and alpha as li2025choice writes them) aims at the base's own mass A1. `arguments`
    are those of `methods.setup`.
    """
    target = rehearsal_target(arguments)
    if target is None:
        return
    relation: Sign = ">=" if target == "one" else "=="
    yield Held(
        name="rehearsed mass",
        theory="B3",
        estimate=float(here.rate.mean()),
        relation=relation,
        prediction=float(here.base_rate.mean()),
        gap=mean(here.rate - here.base_rate),
        resolution=RATE,
        detail="from the base's towards 1"
        if target == "one"
        else "slope 0 at u = 1: the rehearsal aims at the base's; exploration may move it",
    )


def rehearsal_target(arguments: Mapping[str, Any]) -> str | None:
    """The mass that a rehearsal aims at on correct samples: "one", "base", or neither (None)."""
    if not arguments.get("eta"):
        return None
    name, gauge = arguments["divergence"], arguments["gauge"]
    divergence = alpha_divergence(arguments["alpha"]) if name == "alpha" else DIVERGENCES[name]
    if divergence.on_log_ratio(0.0, gauge=gauge).derivative == 0:
        return "base"
    return "one" if divergence == FORWARD_KL and gauge in ("printed", 0) else None
