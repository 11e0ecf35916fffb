"""What came of the pretrained Llama's runs beside what was predicted: as values, tables and sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

from dph_theory.support.table import Table

from ..stored_runs import RunStore
from . import anchors, methods, noise, stationary, transfer
from .claims import Claim, ClaimVerdict, judged
from .open_prompts import LikeliestTokens
from .runs import FinishedOpenRun, of_experiment

END, NOISE, TOKENS, CLAIM, FORECAST, RUN, INTERPOLATION = (
    "predicted end",
    "noise forecast",
    "likeliest tokens",
    "claim",
    "forecast",
    "run",
    "interpolation",
)
"""The kinds of stored rows: all but the last two are made before the runs."""
CLAIMS: tuple[Claim, ...] = (*methods.CLAIMS, *anchors.CLAIMS)


@dataclass(frozen=True)
class Findings:
    """Everything that was predicted, and what came of it; predictions by run, of noise by task."""

    outcomes: Sequence[FinishedOpenRun]
    ends: Mapping[str, Mapping[str, Any]]
    """By run and form of the KL."""
    noise_forecasts: Mapping[str, noise.NoiseForecast]
    noise_verdicts: Sequence[noise.NoiseVerdict]
    tokens: Mapping[str, LikeliestTokens]
    comparisons: Sequence[transfer.ForecastComparison]
    verdicts: Mapping[str, ClaimVerdict]
    """Of the claims, by name."""

    @classmethod
    def read(cls, store: RunStore, names: Sequence[str]) -> "Findings":
        """What the store has of the runs of these ids."""
        outcomes = [*store.read(RUN, FinishedOpenRun, names).values()]
        forecasts = store.read(FORECAST, transfer.TransferForecast)
        noise_forecasts = store.read(NOISE, noise.NoiseForecast)
        pinned = {name: forecast.anchors for name, forecast in forecasts.items()}
        return cls(
            outcomes=outcomes,
            ends=store.read(END, dict),
            noise_forecasts=noise_forecasts,
            noise_verdicts=noise.noise_verdicts(noise_forecasts, outcomes),
            tokens=store.read(TOKENS, LikeliestTokens),
            comparisons=transfer.comparisons(
                outcomes, forecasts, store.read(INTERPOLATION, transfer.Interpolation)
            ),
            verdicts=judged(CLAIMS, outcomes, pinned),
        )

    @property
    def tables(self) -> list[Table]:
        """Runs in expectation beside their predictions, those without a KL, the methods, and the claims."""
        every = (
            stationary.table(self.outcomes),
            noise.table(self.noise_verdicts),
            methods.table(self.outcomes),
            transfer.table(self.comparisons),
            self._claim_table(),
        )
        return [table for table in every if table.rows]

    def _claim_table(self) -> Table:
        rows = []
        for claim in CLAIMS:
            if verdict := self.verdicts.get(claim.name):
                interval = "" if isinf(verdict.low) else f"{verdict.low:+.3f} to {verdict.high:+.3f}"
                rows.append((claim.theory, claim.says, round(verdict.mean, 3), interval, verdict.verdict))
        heads = ("theory", "predicted before the runs", "found", "90% interval", "verdict")
        return Table.from_rows(heads, rows)

    @property
    def sentences(self) -> list[str]:
        """How many runs converged as predicted, and which claims held."""
        expected, under_trl = (of_experiment(name, self.outcomes) for name in ("stationary", "trl"))
        spreads, claims = (
            Counter(verdict.verdict for verdict in verdicts)
            for verdicts in (self.noise_verdicts, self.verdicts.values())
        )
        sentences = []
        if expected:
            sentences.append(
                f"{_matched(expected)} expected-gradient runs converged to their stationary policy."
            )
        if spreads:
            sentences.append(
                f"{spreads['held']} of {spreads.total()} spreads over seeds were as the adjoint predicted."
            )
        if under_trl:
            sentences.append(f"{_matched(under_trl)} runs under TRL converged to their stationary policy.")
        if claims:
            words = [word for word in ("held", "missed", "undecided", "identity") if claims[word]]
            counts = ", ".join(f"{claims[word]} {word}" for word in words)
            sentences.append(f"Of {claims.total()} predictions of differences between runs: {counts}.")
        return sentences


def _matched(outcomes: Sequence[FinishedOpenRun]) -> str:
    return f"{sum(not outcome.misses for outcome in outcomes)} of {len(outcomes)}"
