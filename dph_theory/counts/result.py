"""Everything that counts tell of a run against its base, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .calibration import Bin, calibration
from .curves import Curves, curves
from .fits import LawFit, fits
from .gain import Gain, gain
from .kept import Kept, changed, kept
from .pairs import Matched
from .parts import Parts, parts, told_ks
from .power import Needed, needed
from .reading import Counts
from .spending import Spending, spending
from .styles import Styles, styles

_NAMED = 50
"""The most prompts of a kind that are named."""


@dataclass(frozen=True)
class Source:
    """A file of counts: its name, its hash, how many prompts it alone has, whether it was cut off."""

    name: str
    sha256: str
    unmatched: int
    cut_off: bool


@dataclass(frozen=True)
class Prompt:
    """A prompt that is named: rates seen before and after, and after training as the best law predicts."""

    id: str
    before: float
    after: float
    predicted: float


@dataclass(frozen=True)
class Named:
    """How many prompts there are of a kind, and the clearest of them."""

    count: int
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True)
class Confrontation:
    """A run held against its base and the theory; every interval has 95% confidence, prompts as units.

    `fell` and `rose` are prompts whose own counts differ, `off` those that the best law (`best_law`, of the
    `compared` prompts that decided) does not explain; `calibration` has its rates against those seen.
    """

    base: Source
    run: Source
    prompts: int
    answers: tuple[int, int]
    seed: int
    curves: Curves
    kept: Kept
    gain: Gain
    laws: tuple[LawFit, ...]
    best_law: str
    compared: int
    parts: tuple[Parts, ...]
    fell: Named
    rose: Named
    off: Named
    spending: Spending | None = None
    styles: Styles | None = None
    needed: tuple[Needed, ...] = ()
    calibration: tuple[Bin, ...] = ()


def confront(
    base: Counts,
    run: Counts,
    matched: Matched,
    *,
    ks: Sequence[int] | None = None,
    group_size: int = 8,
    draws: int = 4000,
    seed: int = 0,
    power: Sequence[tuple[float, int]] = (),
) -> Confrontation:
    """Hold a run against its base: Pass@k, what is kept, the gain in log odds, the laws, the parts.

    `ks` replaces k = 1, 2, ..., the least n; `power` asks what would tell differences (d, k) of Pass@k.
    Raises ValueError for fewer than two prompts, or a k above the least n.
    """
    pairs, rng = matched.counts, np.random.default_rng(seed)
    asked = ks or _asked_by(matched)
    drawn = curves(pairs, asked, draws=draws, seed=seed)
    found = fits(pairs, group_size, rng)
    named = partial(_named, matched, found.predicted)
    fell, rose = changed(pairs)
    return Confrontation(
        base=_source(base, matched.only_base),
        run=_source(run, matched.only_run),
        prompts=len(pairs),
        answers=(pairs.least, int(max(pairs.base_n.max(), pairs.run_n.max()))),
        seed=seed,
        curves=drawn,
        kept=kept(pairs, rng),
        gain=gain(pairs),
        laws=found.laws,
        best_law=found.best,
        compared=found.prompts,
        parts=parts(pairs, told_ks(max(asked) if asked else pairs.least), rng),
        fell=named(fell),
        rose=named(rose),
        off=named(found.off),
        spending=spending(matched.run, pairs),
        styles=styles(matched.base, matched.run),
        calibration=calibration(pairs, found.predicted),
        needed=tuple(line for d, k in power for line in needed(pairs, d, k, drawn.critical)),
    )


def _named(matched: Matched, predicted: np.ndarray, places: np.ndarray) -> Named:
    pairs, prompts = matched.counts, []
    for i in places[:_NAMED].tolist():
        before, after = pairs.base_c[i] / pairs.base_n[i], pairs.run_c[i] / pairs.run_n[i]
        prompts.append(Prompt(str(matched.base[i].id), float(before), float(after), float(predicted[i])))
    return Named(len(places), tuple(prompts))


def _source(counts: Counts, unmatched: int) -> Source:
    return Source(Path(counts.source).name, counts.sha256, unmatched, counts.cut_off)


def _asked_by(matched: Matched) -> tuple[int, ...] | None:
    """The k that the rows themselves ask for: those in all the lists, None without lists."""
    lists = [set(r.ks) for r in (*matched.base, *matched.run) if r.ks is not None]
    return tuple(sorted(set.intersection(*lists))) if lists else None
