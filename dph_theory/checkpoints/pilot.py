"""A forecast of Pass@k later in a run, from counts of its base and of one or more of its checkpoints.

Each prompt's log odds go on by the trained prompts' clock (`clock`): mostly along a line where prompts are
trained, mostly as a walk where they are not, as in stored runs (benchmarks/pilot.py). Left out: schedules of
the learning rate, prompts exchanged on the way, and answers among themselves.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp, ndtri

from ..coverage import exact_pass_at_k
from ..intervals import LEVEL, Estimate
from ..numeric.arrays import integers
from ..numeric.elementary import expit, normalised
from ..support.errors import argument_error
from ..support.notebook import Shown
from ..support.record import Readable
from ..support.table import Cell, Table
from ..transfer import LinearisedMethod
from .clock import Walk, later_clock, over_draws
from .counts import Counts, PairedCounts, matched
from .kernel_course import HOLDS_FROM, KernelChange, KernelCourse, described_share, measured_changes
from .pass_at_k import curves, shown_ks
from .policy_fits import THINNED_TO, JointCounts, fitted_shifts, shifted
from .rates import floored_log, likelihood

TRAINED, HELD_OUT, ALL = "trained", "not trained", "all"
PERSISTENCE: Mapping[str, float] = {TRAINED: 0.75, HELD_OUT: 0.25, ALL: 0.25}
"""Of changes, where one checkpoint does not show it: chosen on stored runs (benchmarks/pilot.py)."""
_PERSISTENCES = np.linspace(0, 1, 5)
"""Among these it is fitted."""
_RUN_DRAWS = ndtri((np.arange(15) + 0.5) / 15)
"""Equally likely draws of a run."""
_MOST_FITTED, _LEAST_WEIGHT = 1000, 1e-7
"""So many prompts, drawn at random, decide the persistence; points of less weight do not move the clock."""
_WIDTH = float(ndtri((1 + LEVEL) / 2))


@dataclass(frozen=True, eq=False)
class Moves:
    """What counts of base and checkpoint leave open of log odds: points, and their weights by pair of counts.

    Points are (shifts, grid): the log odds at the base and the change since; `weights` (pairs, points) and
    each prompt's pair, (prompts,). `kernel`, if any, has a pair for each prompt: what it describes of its
    change, and adds later.
    """

    start: np.ndarray
    change: np.ndarray
    weights: np.ndarray
    pair: np.ndarray
    kernel: KernelChange | None = None

    @classmethod
    def from_pairs(cls, pairs: PairedCounts, rng: np.random.Generator) -> "Moves":
        """By the spread of the base's rates and a normal spread of changes, fitted to these prompts."""
        data = JointCounts.from_pairs(pairs.thinned_to(THINNED_TO, rng))
        shifts, weights = fitted_shifts(data)
        rates = data.spread.rates
        with np.errstate(divide="ignore"):
            start = np.broadcast_to(np.log(rates) - np.log1p(-rates), (len(shifts), len(rates)))
        (base, run), pair = np.unique(np.stack(data.place), axis=1, return_inverse=True)
        n, c = data.run
        after = likelihood(n, c, shifted(rates, shifts).ravel())
        joint = np.tile(data.base * weights, len(shifts))[base] * after[run]
        return cls(start.ravel(), np.repeat(shifts, len(rates)), normalised(joint), pair)

    @cached_property
    def often(self) -> np.ndarray:
        """How many prompts have each pair of counts."""
        return np.bincount(self.pair, minlength=len(self.weights))

    @cached_property
    def mean_weights(self) -> np.ndarray:
        """The mean weights over prompts, (points,)."""
        return np.asarray(self.often / len(self.pair) @ self.weights)

    @property
    def shift(self) -> tuple[float, float]:
        """The mean and the deviation over prompts of the change."""
        mean = float(self.mean_weights @ self.change)
        return mean, float(np.sqrt(self.mean_weights @ (self.change - mean) ** 2))

    def joined(self, kernel: KernelChange) -> "Moves":
        """The same where a kernel describes a part of the change."""
        return replace(self, weights=self.weights[self.pair], pair=np.arange(len(self.pair)), kernel=kernel)

    def walk(self, clock: float, persistence: float) -> Walk:
        """How these changes go on, but for what a kernel describes."""
        weights, left = self.mean_weights, self.change
        if self.kernel is not None:
            weights, left = self.weights / len(self.weights), left - self.kernel.described[:, None]
        mean = (weights * left).sum()
        return Walk(clock, persistence, float(np.sqrt((weights * (left - mean) ** 2).sum())))

    def moments(self, walk: Walk, ks: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The mean Pass@k later and its variance by k, run's draw and pair of counts, (k, draws, pairs)."""
        now, by_pair = self.start + self.change, []
        if self.kernel is None:
            by_pair.append(walk.pass_at_k(now, self.change, ks, _RUN_DRAWS) @ self.weights.T)
        else:
            for weights, described, ahead in zip(self.weights, *self.kernel, strict=True):
                likely = weights > _LEAST_WEIGHT
                left = self.change[likely] - described
                passed = walk.pass_at_k(now[likely] + ahead, left, ks, _RUN_DRAWS)
                by_pair.append(passed @ (weights[likely] / weights[likely].sum())[:, None])
        mean, square = np.moveaxis(np.concatenate(by_pair, axis=-1), 2, 0)
        return mean, np.maximum(square - mean**2, 0.0)

    def log_chance(self, walk: Walk, n: np.ndarray, c: np.ndarray) -> float:
        """The log probability of later counts (prompts,), a run's draw being one for all prompts."""
        (key_n, key_c), place = np.unique(np.stack([n, c]), axis=1, return_inverse=True)
        now, logs = self.start + self.change, []
        for noise in _RUN_DRAWS[1::3]:
            rates = expit(walk.log_odds(now, self.change, noise))
            chance = over_draws(np.array([likelihood(key_n, key_c, node) for node in rates]))
            logs.append(floored_log((self.weights[self.pair] * chance[place]).sum(axis=1)).sum())
        return float(logsumexp(logs) - np.log(len(logs)))


@dataclass(frozen=True, repr=False)
class KernelShare(Readable):
    """What the kernel described of the first steps.

    `weight` is the share of the mean square of the changes of log odds, by which its later steps count;
    `moved` has the root mean squares of these changes, measured and by the kernel, by kind of prompts.
    """

    weight: float
    moved: Mapping[str, tuple[float, float]]

    def sentence(self, step: int) -> str:
        """How far the first steps moved log odds, how far the kernel had them move, and what follows."""
        pairs = (f"{now:.1f}, forecast {by:.1f} ({kind})" for kind, (now, by) in self.moved.items())
        ending = f"{self.weight:.0%} of it is as the kernel has it, which weighs so much"
        if self.weight < HOLDS_FROM:
            ending = "the kernel of the base does not hold here"
        return f"The first {step} steps moved log odds by {'; '.join(pairs)}: {ending}."


@dataclass(frozen=True, repr=False)
class PromptForecast(Readable):
    """Pass@k at each k of prompts that are trained, or are not: of base and checkpoint, and forecast.

    `shift` and `deviation` are those of the change of the log odds so far, over prompts; of it `persistence`
    goes on. The interval of `later` has three parts, whose half-widths stand beside it: what `answers` leave
    open (of rates, and of what each prompt does by itself), `other_prompts` of their kind, and other
    `seeds`, whose noise all prompts of a run share, as in stored runs.
    """

    kind: str
    prompts: int
    shift: float
    deviation: float
    persistence: float
    base: tuple[float, ...]
    now: tuple[float, ...]
    later: tuple[Estimate, ...]
    answers: tuple[float, ...]
    other_prompts: tuple[float, ...]
    seeds: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class PilotForecast(Shown):
    """Pass@k at step `until` as the checkpoint at `step` has it, by the trained prompts' `clock`.

    The clock is 1 at the checkpoint. `earlier`, of several checkpoints, is the same forecast of the last one
    from the one before it, to be held against what was measured; `notes` say what was assumed.
    """

    base: str
    checkpoint: str
    step: int
    until: int
    clock: float
    k: tuple[int, ...]
    forecasts: tuple[PromptForecast, ...]
    earlier: "PilotForecast | None" = None
    kernel: KernelShare | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Where Pass@k is at the least and the most k, now and later, and how well that went before."""
        return "\n".join([*self._lines(), *(f"Note: {note}." for note in self.notes)])

    def _lines(self) -> Iterator[str]:
        ends = sorted({0, len(self.k) - 1})
        for part in self.forecasts:
            words = (f"Pass@{self.k[i]} {part.now[i]:.3f} now, {_text(part.later[i])} then" for i in ends)
            yield f"Step {self.until} from step {self.step}, {part.prompts} prompts ({part.kind}):"
            yield f"  {'; '.join(words)}."
        yield f"The trained prompts' clock goes on to {self.clock:.2f} times what it was at step {self.step}."
        if self.kernel is not None:
            yield self.kernel.sentence(self.step)
        if self.earlier is None:
            return
        for past, part in zip(self.earlier.forecasts, self.forecasts, strict=True):
            words = (f"Pass@{self.k[i]} {_text(past.later[i])}, measured {part.now[i]:.3f}" for i in ends)
            yield f"Checked on step {self.step} from step {self.earlier.step} ({part.kind}):"
            yield f"  {'; '.join(words)}."

    def tables(self) -> list[Table]:
        """Pass@k of the base, now and later, with the parts of the interval."""
        steps = f"step {self.step}", f"step {self.until}"
        head = ("prompts", "k", "base", *steps, "95%", "answers", "others", "seeds")
        rows: list[tuple[Cell, ...]] = []
        for part in self.forecasts:
            before = zip(self.k, part.base, part.now, part.later, strict=True)
            widths = zip(part.answers, part.other_prompts, part.seeds, strict=True)
            for (k, base, now, later), parts in zip(before, widths, strict=True):
                interval = f"{later.low:.3f} to {later.high:.3f}"
                rates = (f"{x:.3f}" for x in (base, now, later.value))
                rows.append((part.kind, k, *rates, interval, *(f"{x:.3f}" for x in parts)))
        title = "Pass@k; the interval at each k alone, and what of it answers, other prompts and seeds are"
        return [Table.from_rows(head, rows, title)]


def _text(rate: Estimate) -> str:
    return f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]"


def pilot_forecast(
    base: Counts,
    checkpoints: Mapping[int, Counts],
    until: int,
    trained: Collection[str | int] | None = None,
    *,
    method: LinearisedMethod | None = None,
    kernel: KernelCourse | None = None,
    ks: Sequence[int] | None = None,
    allow_missing: bool = False,
    min_n: int = 1,
    draws: int = 4000,
    seed: int = 0,
) -> PilotForecast:
    """Pass@k at a later step of a run, from the counts of its base and its checkpoints so far.

    Parameters: `base` and `checkpoints` by step, from `read_counts`, paired as `matched` does with
    `allow_missing` and `min_n`; `until`, the step that is forecast; `trained`, the ids of the prompts that
    the run trains: without them the clock is that of all prompts, and all count as not trained; `method`, its
    advantage and KL, by default divided by the std in groups of eight, no KL; `kernel`, the base's, whose
    later steps are added as much as it described the first ones, and which says by default what is trained;
    `ks`, by default powers of two up to the least number of answers; `draws` and `seed` of the interval. Of
    several checkpoints the persistence is fitted to the counts of each, forecast from the one before. Returns
    a PilotForecast. Raises ValueError as `matched` does, for no checkpoint, a step before the last, trained
    ids that are in no file, fewer than two prompts.

    >>> pilot_forecast(base, {50: first, 100: second}, 400)  # doctest: +SKIP
    """
    steps = sorted(checkpoints)
    if not steps or steps[0] < 1 or until < steps[-1]:
        raise argument_error("until", until, f"from the last checkpoint's step on, of steps above 0: {steps}")
    both = [matched(base, checkpoints[step], allow_missing=allow_missing, min_n=min_n) for step in steps]
    shared = set.intersection(*({row.id for row in one.base} for one in both))
    if len(shared) < 2:
        raise argument_error("prompts", len(shared), "at least two that all files have")
    masks = [np.array([row.id in shared for row in one.base]) for one in both]
    pairs = {step: one.counts.chosen(mask) for step, one, mask in zip(steps, both, masks, strict=True)}
    ids = [str(row.id) for row in both[-1].base if row.id in shared]
    kinds, notes = _kinds(ids, kernel.trained if kernel is not None and trained is None else trained)
    least = min(one.least for one in pairs.values())
    k = tuple(sorted({*integers("k", list(ks or shown_ks(least)), at_least=1).tolist()}))
    if k[-1] > least:
        notes.append(f"a k above {least}, the fewest answers to a prompt, is by fitted rates")
    rng = np.random.default_rng(seed)
    moves = {
        (step, kind): Moves.from_pairs(one.chosen(which), rng)
        for step, one in pairs.items()
        for kind, which in kinds.items()
    }
    course = _Course(pairs, moves, kinds, method or LinearisedMethod(group_size=8), seed, ids, kernel)

    def at_step(now: int, later: int, earlier: PilotForecast | None = None) -> PilotForecast:
        forecasts = tuple(course.forecast(kind, now, later, k, draws) for kind in kinds)
        names = base.name, checkpoints[now].name
        return PilotForecast(
            *names, now, later, course.clock(now, later), k, forecasts, earlier, course.share(now)
        )

    last = at_step(steps[-1], until, at_step(steps[-2], steps[-1]) if steps[:-1] else None)
    return replace(last, notes=tuple(notes))


def _kinds(
    ids: Sequence[str], trained: Collection[str | int] | None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Which prompts are trained and which are not, and what is assumed where nothing says it."""
    if trained is None:
        assumed = "all count as not trained, and the clock is theirs (--trained)"
        kinds, notes = {ALL: np.full(len(ids), True)}, [f"no prompt is known to be trained: {assumed}"]
    else:
        names = {str(name) for name in trained}
        mask, absent = np.array([name in names for name in ids]), len(names - {*ids})
        if not mask.any():
            raise argument_error("trained", sorted(names)[:3], f"ids of prompts, such as {ids[0]!r}")
        kinds = {kind: side for kind, side in ((HELD_OUT, ~mask), (TRAINED, mask)) if side.any()}
        words = f"{absent} trained prompts have no counts: the clock is that of the {mask.sum()} others"
        notes = [words] if absent else []
    for kind, side in kinds.items():
        if side.sum() < 2:
            raise argument_error("prompts", int(side.sum()), f"two or more that are {kind}")
    return kinds, notes


@dataclass(frozen=True, eq=False)
class _Course:
    """The checkpoints of one run: their counts, and what these leave open by step and kind of prompts."""

    pairs: Mapping[int, PairedCounts]
    moves: Mapping[tuple[int, str], Moves]
    kinds: Mapping[str, np.ndarray]
    method: LinearisedMethod
    seed: int
    ids: Sequence[str]
    kernel: KernelCourse | None

    def share(self, now: int) -> KernelShare | None:
        """What the kernel described of the changes until now."""
        if self.kernel is None:
            return None
        measured, by_kernel = {}, self.kernel.change(self.ids, now, now).described
        for kind, which in self.kinds.items():
            changes = measured_changes(self.pairs[now].chosen(which))
            size, forecast, _ = np.sqrt(described_share(changes, by_kernel[which])).tolist()
            measured[kind] = size, forecast
        return KernelShare(described_share(measured_changes(self.pairs[now]), by_kernel)[2], measured)

    def clock(self, now: int, later: int) -> float:
        """The trained prompts' clock at a later step, 1 now."""
        moves = self.moves[now, next(kind for kind in (TRAINED, ALL, HELD_OUT) if kind in self.kinds)]
        inside = np.isfinite(moves.start) & (moves.mean_weights > _LEAST_WEIGHT)
        parts = moves.start[inside], moves.change[inside], moves.mean_weights[inside]
        return later_clock(*parts, later / now, self.method)

    def persistence(self, kind: str, now: int) -> float:
        """By the checkpoints until now, each forecast from the one before; else as in stored runs."""
        steps = [step for step in self.pairs if step <= now]
        scores = np.zeros(len(_PERSISTENCES))
        for before, after in pairwise(steps):
            moves, clock = self.moves[before, kind], self.clock(before, after)
            later = self.pairs[after].chosen(self.kinds[kind])
            n = np.minimum(later.run_n, THINNED_TO)
            rng = np.random.default_rng(self.seed)
            c = rng.hypergeometric(later.run_c, later.run_n - later.run_c, n)
            chosen = rng.permutation(len(n))[:_MOST_FITTED]
            part = replace(moves, pair=moves.pair[chosen])
            scores += [part.log_chance(moves.walk(clock, x), n[chosen], c[chosen]) for x in _PERSISTENCES]
        if len(steps) < 2:
            return PERSISTENCE[kind]
        return float(normalised(np.exp(scores - scores.max())) @ _PERSISTENCES)

    def forecast(self, kind: str, now: int, later: int, ks: Sequence[int], draws: int) -> PromptForecast:
        """Pass@k of prompts of this kind at a later step."""
        moves, both = self.moves[now, kind], self.pairs[now].chosen(self.kinds[kind])
        if self.kernel is not None and (described := self.share(now)) and described.weight:
            change, chosen = self.kernel.change(self.ids, now, later), self.kinds[kind]
            moves = moves.joined(KernelChange(*(described.weight * part[chosen] for part in change)))
        persistence, rng = self.persistence(kind, now), np.random.default_rng(self.seed)
        mean, variance = moves.moments(moves.walk(self.clock(now, later), persistence), ks)
        share, size = moves.often / len(both), len(both)
        by_noise, within = mean @ share, variance @ share
        own, drawn = np.sqrt(within / size), np.empty((draws, len(ks)))
        for draw, noise in zip(drawn, rng.integers(len(_RUN_DRAWS), size=draws), strict=True):
            # Uniform weights of prompts, added up over those of equal counts.
            weights = rng.standard_gamma(moves.often)
            draw[:] = mean[:, noise] @ (weights / weights.sum()) + own[:, noise] * rng.standard_normal()
        low, high = np.clip(np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0), 0, 1)
        value, middle = by_noise.mean(axis=1), mean.mean(axis=1)
        among = (middle**2) @ share - (middle @ share) ** 2
        parts = (
            np.sqrt(within.mean(axis=1) / size),
            np.sqrt(np.maximum(among, 0) / size),
            by_noise.std(axis=1),
        )
        answers, other_prompts, shared = (tuple((_WIDTH * part).tolist()) for part in parts)
        base, current = self._measured(moves, both, ks)
        estimates = tuple(Estimate(*map(float, ends)) for ends in zip(value, low, high, strict=True))
        return PromptForecast(
            kind, size, *moves.shift, persistence, base, current, estimates, answers, other_prompts, shared
        )

    @staticmethod
    def _measured(moves: Moves, both: PairedCounts, ks: Sequence[int]) -> list[tuple[float, ...]]:
        """Pass@k of base and checkpoint: unbiased up to the fewest answers, beyond by the fitted rates."""
        sides = (both.base_n, both.base_c, moves.start), (both.run_n, both.run_c, moves.start + moves.change)
        return [
            tuple(
                float(
                    curves(n, c, [k]).mean()
                    if k <= both.least
                    else moves.mean_weights @ exact_pass_at_k(expit(log_odds), k)
                )
                for k in ks
            )
            for n, c, log_odds in sides
        ]
