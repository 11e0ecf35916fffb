"""The theory's predictions for rehearsed prompts: the guarantee, the rehearsed mass, the token sum."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dph_theory import DIVERGENCES, FORWARD_KL, alpha_divergence, rehearsal_guarantee

from .measurements import Measured
from .verdicts import RATE, ROUNDING, Claim, Estimate, Relation, mean


def guarantee(here: Measured, rows: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    """J >= exp(-KL(p_* || pi)) on the rehearsed prompts (C4), for the joint law of prompt and answer.

    KL(p_* || pi) = E_{p_*}[log a/pi] - log A1 is a mean over the buffer's rows, which are draws of p_*, and
    over fresh base samples of the prompt; J is a mean too. So no bias but that of the exponential of a mean;
    by Jensen's inequality the joint statement follows from that for each prompt.
    """
    costs: dict[str, list[float]] = {}
    for row in rows:
        costs.setdefault(str(row["id"]), []).append(row["log_ref"] - row["log_pi"])
    kept = [index for index, name in enumerate(here.ids) if name in costs]
    if not kept:
        return
    n = here.base_correct.shape[1]
    log_base = np.log((here.base_correct[kept].sum(axis=1) + 0.5) / (n + 0.5))
    kl = np.array([np.mean(costs[here.ids[index]]) for index in kept]) - log_base
    rate = here.rate[kept]
    bound = float(rehearsal_guarantee(max(float(kl.mean()), 0.0)))
    yield Claim(
        name="guarantee",
        theory="C4",
        estimate=float(rate.mean()),
        relation=">=",
        prediction=bound,
        gap=Estimate(float(rate.mean()) - bound, mean(rate + bound * kl).standard_error, len(kept)),
        resolution=RATE,
        detail=f"KL(p_*||pi) = {kl.mean():.3g} from {sum(map(len, costs.values()))} rows",
    )


def rehearsed_mass(here: Measured, arguments: Mapping[str, Any]) -> Iterator[Claim]:
    """The valid mass on rehearsed prompts, where the gauge of f decides what rehearsal aims at (B3).

    -log u aims at p_*, mass 1: the mass does not fall below the base's. A generator that vanishes with its
    slope at u = 1 (k3, JS and alpha as printed) aims at the base's own mass A1. `arguments` are those of
    `methods.setup`.
    """
    target = rehearsal_target(arguments)
    if target is None:
        return
    relation: Relation = ">=" if target == "one" else "=="
    yield Claim(
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


def token_sum(rows: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    """The forward KL summed over tokens is that of the sequence, row by row of the buffer (B5).

    Where the evaluation stored token sums of other divergences, these are told beside it: they differ from
    the sequence's, in either direction.
    """
    stored = [row for row in rows if FORWARD_KL.name in row.get("token_sums", {})]
    if not stored:
        return
    sequence = np.array([row["log_ref"] - row["log_pi"] for row in stored])
    sums = {name: np.array([row["token_sums"][name] for row in stored]) for name in stored[0]["token_sums"]}
    tokens = sums.pop(FORWARD_KL.name)
    yield Claim(
        name="token sum",
        theory="B5",
        estimate=float(tokens.mean()),
        relation="==",
        prediction=float(sequence.mean()),
        gap=mean(tokens - sequence),
        resolution=ROUNDING,
        detail=", ".join(f"{name} {values.mean():.3g}" for name, values in sums.items()),
    )
