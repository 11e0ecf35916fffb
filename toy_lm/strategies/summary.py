"""Summaries of the sweep: where the direction of the KL matters, and how well the collapse meter warns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dph_theory.meter import LeadTime, Warnings

from .config import Config
from .results import Block
from .sweep import PLACES


@dataclass(frozen=True, kw_only=True)
class Direction:
    """Every direction's Pass@1 and Pass@k at one place and strength eta f''(1), by the direction's name."""

    place: str
    strength: float
    pass_at_1: dict[str, float]
    pass_at_k: dict[str, float]

    @property
    def gap(self) -> float:
        """The forward KL's Pass@k less the reverse KL's, at equal strength (theory B9)."""
        return self.pass_at_k["forward KL"] - self.pass_at_k["reverse KL"]


def directions(config: Config, blocks: Sequence[Block]) -> list[Direction]:
    """The directions at the configured conditioning, place by place with strengths rising."""
    g = config.conditionings.index(config.conditioning)
    rows = []
    for place in PLACES:
        at_place = {block.divergence: block for block in blocks if block.place == place}
        chosen = {name: at_place[divergence.name] for name, divergence in config.divergences.items()}
        for column, strength in enumerate(config.strengths):
            rows.append(
                Direction(
                    place=place,
                    strength=strength,
                    pass_at_1={name: block.pass_at_1[g][column] for name, block in chosen.items()},
                    pass_at_k={name: block.pass_at_k[g][column] for name, block in chosen.items()},
                )
            )
    return rows


def by_alpha(config: Config, blocks: Sequence[Block], strength: float, place: str) -> dict[float, float]:
    """Pass@k against alpha at one strength and place, from alpha = 0 (reverse KL) to 1 (forward KL)."""
    column, found = config.strengths.index(strength), {}
    ends = {config.divergences["reverse KL"].name: 0.0, config.divergences["forward KL"].name: 1.0}
    for block in blocks:
        alpha = ends.get(block.divergence or "", block.alpha)
        if block.place == place and alpha is not None:
            found[alpha] = block.pass_at_k[block.conditioning.index(config.conditioning)][column]
    return dict(sorted(found.items()))


def meter(config: Config, blocks: Sequence[Block]) -> list[Warnings]:
    """The collapse meter as a warning over all trainings of the sweep, at each threshold."""
    return [
        Warnings(rise, tuple(lead for block in blocks for lead in _leads(block, index)))
        for index, rise in enumerate(config.rises)
    ]


def _leads(block: Block, rise: int) -> Iterator[LeadTime]:
    for warned, fallen in zip(block.meter_step[rise], block.coverage_step, strict=True):
        yield from map(LeadTime, warned, fallen)
