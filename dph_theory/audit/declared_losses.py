"""Comparison of a policy loss with the declared ones, and where they differ."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from ..losses.policy_losses import POLICY_LOSSES, PolicyForm
from .called_loss import Audited, LossError
from .log_ratios import stopped_ratios
from .precision import FLOAT32

EXACT = 1e-6
"""Relative agreement of gradients of a loss that computes in float64."""
SMALL = 2.5e-4
"""Log ratio within any clip in use."""
UP = (1.051, 1.107, 1.187, 1.213, 1.267, 1.293, 1.51, 2.13, 2.87, 3.13, 5.13, 11.7)
DOWN = (0.947, 0.907, 0.887, 0.813, 0.787, 0.703, 0.513, 0.307, 0.083)
"""The ratios pi/old that are tried."""
PLACES = ((0.05, 0.3), (1.5, -0.3))
"""Minus the larger of log pi and log old, and log(pi/ref); declared losses depend on neither on policy."""
SUMS = {
    "in answers of several tokens (the length normalisation)": ((2,), (8,)),
    "in batches of several answers": ((2, 2, 2),),
    "where lengths differ": ((1, 2, 5),),
}
"""Numbers of tokens in the answers of batches, by the reduction that they show."""
OFF, PADDED, RARE = "off policy", "where a batch is padded further", "on policy, by a token's probabilities"
SIGN, SIZE = "by the sign of the advantage", "on policy, by the size of the advantage"
ADVANTAGES = (3.0, 0.3)
"""Sizes of advantages that are tried beside one."""
SILENT = "a token alone has no gradient on policy"


@dataclass(frozen=True)
class _Gradients:
    """Gradients by where they are taken, over that of one token on policy, `scale`, at one advantage.

    `signs` are the signs of the advantages behind them; `weights` the gradients of a token of positive and of
    negative advantage on policy, over the scale.
    """

    parts: Mapping[str, Tensor]
    signs: Mapping[str, Tensor]
    weights: tuple[float, float]
    scale: float
    unit: float

    def weighed_as(self, other: "_Gradients") -> Mapping[str, Tensor]:
        """Gradients by part, with positive and negative advantages weighed as in `other`."""
        up, down = (a / b if b else 1.0 for a, b in zip(other.weights, self.weights, strict=True))
        return {part: x * torch.where(self.signs[part] > 0, up, down) for part, x in self.parts.items()}


def declared_loss(audited: Audited, name: str = "") -> str:
    """Sentence that names the published policy loss whose gradient equals that of a loss's advantage term.

    Gradients are compared up to one factor: on policy in batches of several lengths, and off policy. The
    sentence is empty without advantages, if `name` is that loss's title, or if the loss fails.
    """
    if "advantages" not in audited.names or any(form.title == name for form in POLICY_LOSSES):
        return ""
    policy, tolerance = audited - audited.at_zero_advantages(), FLOAT32 if audited.in_float32 else EXACT
    try:
        own = _gradients(policy)
        compared = {form: _differences(own, _declared(form, own.unit), tolerance) for form in POLICY_LOSSES}
        form = min(compared, key=lambda form: _order(compared[form]))
        differs, words = compared[form], form.words
        for fitted, fitted_words in _clipped(policy) if _order(differs)[1] and RARE not in differs else ():
            change = _differences(own, _declared(fitted, own.unit), tolerance)
            if _order(change) < _order(differs):
                form, differs, words = fitted, change, fitted_words
    except LossError as error:
        return f"Its policy loss is none of the {len(POLICY_LOSSES)} declared ones: {SILENT}." * (
            SILENT in str(error)
        )
    places = [part for part in differs if part != SIGN]
    where = f", but {_sign_words(own.weights)}" if SIGN in differs else ""
    where += f"{' and' if where else ', but'} it differs {' and '.join(places[:2])}" if places else ""
    if _order(differs)[1]:
        near = "" if _order(differs)[0] else f"; nearest is {words}{where}"
        near = f": it differs {RARE}, pi or the reference's" if RARE in differs else near
        return f"Its policy loss is none of the {len(POLICY_LOSSES)} declared ones{near}."
    equal = sorted({other.trainer for other, empty in compared.items() if not empty} - {form.trainer})
    also = f", like {' and '.join(equal[:2])}" if equal and not differs and words == form.words else ""
    # A fixed length that a sum is divided by is a setting.
    fixed = (
        math.copysign(1.0, -own.scale)
        if " " in form.reduction
        else own.scale / _declared(form, own.unit).scale
    )
    factor = "" if abs(abs(fixed) - 1) < 1e-5 else f"{abs(fixed):.4g} times "
    factor = f"the reverse of {factor}" if fixed < 0 else factor
    return f"Its policy loss is {factor}{words}{also}{where}; on and off policy, to {tolerance:.0e}.".replace(
        "e-0", "e-"
    )


def _sign_words(weights: tuple[float, float]) -> str:
    """Words on how tokens of A < 0 weigh against A > 0, from the two signs' `weights`; empty if equally."""
    if weights[0] == 0:
        return "tokens of A > 0 have no gradient"
    down = weights[1]
    if down == 0:
        return "tokens of A < 0 have no gradient"
    size = "" if abs(abs(down) - 1) < 1e-5 else f" weighed {abs(down):.4g} times as much"
    return f"tokens of A < 0 are{' reversed' * (down < 0)}{' and' * (down < 0 and bool(size))}{size}"


def _order(differs: tuple[str, ...]) -> tuple[bool, int, int]:
    """Sort key of the parts in which losses differ: near a ratio of one, other ratios, reductions."""
    sums = sum(part in (*SUMS, PADDED, SIZE, SIGN) for part in differs)
    return any(part.startswith((OFF, RARE)) for part in differs), len(differs) - sums, sums


def _differences(own: _Gradients, other: _Gradients, tolerance: float) -> tuple[str, ...]:
    """Parts in which gradients differ: the sign of advantages; then, with signs weighed alike, the others.

    A difference counts above `tolerance` times the larger of one and the largest gradient.
    """
    weighed, parts = other.weighed_as(own), own.parts
    signs = max(abs(a - b) for a, b in zip(own.weights, other.weights, strict=True))
    return (SIGN,) * (signs > tolerance) + tuple(
        part
        for part, values in parts.items()
        if not float((values - weighed[part]).abs().max()) <= tolerance * max(1.0, float(values.abs().max()))
    )


def _slopes(
    audited: Audited, x: Tensor, signs: Tensor, mask: Tensor, *, place: int = 0, first: bool = False
) -> Tensor:
    """Gradient in log_pi, (answers, tokens), at log ratios x to the old policy (or 0 with `first`).

    `place` is an index into PLACES, which shift the log-probabilities and the log ratio to the reference.
    """
    shift, away = PLACES[place]
    log_pi = (x.clamp(max=0.0) - shift).requires_grad_()
    log_old = log_pi.detach() if first else (-x).clamp(max=0.0) - shift
    inputs = {"log_pi": log_pi, "log_ref": log_pi.detach() - away, "log_old": log_old, "mask": mask}
    return audited.slope({**inputs, "advantages": signs.expand_as(x).clone()})[1] * mask


def _weights(audited: Audited, x: Tensor, signs: Tensor, unit: float) -> Tensor:
    """Gradient of each token at log ratios x over that on policy at |A| = 1, stacked over PLACES."""
    weights = []
    for place in range(len(PLACES)):
        ones = torch.ones_like(x)
        later = _slopes(audited, x, signs, ones, place=place)
        # One sign sets the scale of both, so that a loss that weighs the signs apart is not divided clean.
        first = signs * unit * _slopes(audited, x, unit * ones, ones, place=place, first=True)
        if bool((first == 0).any()):
            raise LossError(SILENT)
        weights.append(later / first)
    return torch.cat(weights)


def _of_lengths(audited: Audited, lengths: tuple[int, ...], width: int, size: float = 1.0) -> Tensor:
    """Gradient (answers, width) on policy for answers of these lengths, advantages +size, -size in turn."""
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).double()
    return _slopes(audited, torch.zeros_like(mask), size * _in_turn(lengths), mask, first=True)


def _in_turn(lengths: tuple[int, ...]) -> Tensor:
    return (-1.0) ** torch.arange(len(lengths), dtype=torch.float64)[:, None]


def _gradients(audited: Audited, unit: float = 0.0) -> _Gradients:
    """Gradients of a loss on policy, in batches of several lengths, and off policy.

    The scale is that of an advantage of `unit`, by default 1, or -1 if positive ones have no gradient.
    """
    up, down = (float(sign * _of_lengths(audited, (1,), 1, sign)) for sign in (1.0, -1.0))
    unit = unit or (1.0 if up else -1.0)
    scale = up if unit > 0 else down
    if scale == 0:
        raise LossError(
            SILENT if bool(_of_lengths(audited, (2, 2), 2).any()) else "its advantages move nothing"
        )
    parts, signs = dict[str, Tensor](), dict[str, Tensor]()

    def add(part: str, gradients: Sequence[Tensor], sign_of: Sequence[Tensor]) -> None:
        parts[part] = torch.cat([x.flatten() for x in gradients])
        signs[part] = torch.cat(
            [(sign * torch.ones_like(x)).flatten() for x, sign in zip(gradients, sign_of, strict=True)]
        )

    for part, batches in SUMS.items():
        if "mask" in audited.names or len({*batches[0]}) == 1:
            of_batches = [_of_lengths(audited, batch, max(batch), unit) / scale for batch in batches]
            add(part, of_batches, [unit * _in_turn(batch) for batch in batches])
    one = torch.ones(1, 1, dtype=torch.float64)
    add(RARE, [_slopes(audited, 0 * one, unit * one, one, place=1, first=True) / scale], [unit * one])
    if "mask" in audited.names:
        add(PADDED, [_of_lengths(audited, (1,), 3, unit) / scale], [unit * one])
    sizes = [unit * size for size in ADVANTAGES]
    add(SIZE, [_of_lengths(audited, (1,), 1, size) / size / unit / scale for size in sizes], [unit * one] * 2)
    for sign in (1.0, -1.0):
        which = f"A {'>' if sign > 0 else '<'} 0"
        tried: dict[str, tuple[float, ...]] = {f"{OFF}, {which}": (math.exp(SMALL), math.exp(-SMALL))}
        tried |= {f"where pi/old > 1 and {which}": UP, f"where pi/old < 1 and {which}": DOWN}
        for part, ratios in tried.items():
            x = torch.tensor(ratios, dtype=torch.float64).log()[:, None]
            add(part, [_weights(audited, x, torch.full_like(x, sign), unit)], [sign * one])
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alternating = _in_turn((8,) * 4).expand_as(x)
    both = [_weights(audited, size * x, alternating, unit) for size in (SMALL / 4, 0.3)]
    add("where the ratios of an answer's tokens differ", both, [alternating.repeat(len(PLACES), 1)] * 2)
    return _Gradients(parts, signs, (up / scale, down / scale), scale, unit)


@cache
def _declared(form: PolicyForm, unit: float) -> _Gradients:
    return _gradients(Audited.from_function(form.loss), unit)


def _clipped(audited: Audited) -> Iterator[tuple[PolicyForm, str]]:
    """Yield published clipped losses with clips as found in this loss, and how the rest differs in words."""
    clip, ends = {"low": 1.0, "high": 1e30}, []
    for zone in stopped_ratios(audited):
        lower = zone.low == 0
        if lower and zone.advantage > 0:
            return
        name = "low" if lower else "high" if zone.advantage > 0 else "dual"
        ends.append(zone.high if lower else zone.low)
        clip[name] = {"low": 1 - ends[-1], "high": ends[-1] - 1, "dual": ends[-1]}[name]
    words = f"clipped to {' and '.join(f'{end:.6g}' for end in sorted(ends))}" if ends else "not clipped"
    settings = [f"{name}={value}" for name, value in clip.items()]
    for form in POLICY_LOSSES:
        stem, *own = form.surrogate.split()
        levels = {" ".join(setting for setting in own if "level=" in setting): words}
        levels |= {"level=answer": f"of the product of an answer's ratios, {words}"}
        for level, change in levels.items() if stem == "clip" else ():
            surrogate = " ".join([stem, *settings, level]).strip()
            yield replace(form, surrogate=surrogate), f"{form.words}, but {change}"
