"""Which declared policy loss a given one is, and where the two differ."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from ..losses.policy_losses import POLICY_LOSSES, PolicyForm
from .called_loss import Audited, LossError
from .log_ratios import stopped_ratios
from .precision import FLOAT32

EXACT = 1e-6
"""Relative agreement of gradients, of a loss that computes in float64."""
SMALL = 2.5e-4
"""A log ratio within any clip in use."""
UP = (1.051, 1.107, 1.187, 1.213, 1.267, 1.293, 1.51, 2.13, 2.87, 3.13, 5.13, 11.7)
DOWN = (0.947, 0.907, 0.887, 0.813, 0.787, 0.703, 0.513, 0.307, 0.083)
"""The ratios pi/old that are tried."""
PLACES = ((0.05, 0.3), (1.5, -0.3))
"""Minus the larger of log pi and log old, and log(pi/ref): on policy no declared one depends on either."""
SUMS = {
    "in answers of several tokens (the length normalisation)": ((2,), (8,)),
    "in batches of several answers": ((2, 2, 2),),
    "where lengths differ": ((1, 2, 5),),
}
"""Numbers of tokens of the answers of batches, by what they show of how a loss adds up."""
OFF, PADDED, RARE = "off policy", "where a batch is padded further", "on policy, by a token's probabilities"
SILENT = "a token alone has no gradient on policy"
Parts = Mapping[str, Tensor]


def declared_loss(audited: Audited, name: str = "") -> str:
    """Which declared policy loss the part of a loss that goes with its advantages is, in a sentence.

    Gradients are compared, up to a factor: on policy in answers and batches of several lengths, and off
    policy, by what ratios make of them. Nothing is said of one that takes no advantages, has the title
    `name`, or fails there.
    """
    if "advantages" not in audited.names or any(form.title == name for form in POLICY_LOSSES):
        return ""
    policy, tolerance = audited - audited.at_zero_advantages(), FLOAT32 if audited.in_float32 else EXACT
    try:
        parts, scale = _parts(policy)
        compared = {form: _differences(parts, _declared(form)[0], tolerance) for form in POLICY_LOSSES}
        form = min(compared, key=lambda form: _order(compared[form]))
        differs, words = compared[form], form.words
        for fitted, fitted_words in _clipped(policy) if _order(differs)[1] and RARE not in differs else ():
            change = _differences(parts, _declared(fitted)[0], tolerance)
            if _order(change) < _order(differs):
                form, differs, words = fitted, change, fitted_words
    except LossError as error:
        return f"Its policy loss is none of the {len(POLICY_LOSSES)} declared ones: {SILENT}." * (
            SILENT in str(error)
        )
    where = f", but it differs {' and '.join(differs[:2])}" if differs else ""
    if _order(differs)[1]:
        near = "" if _order(differs)[0] else f"; nearest is {words}{where}"
        near = f": it differs {RARE}, pi or the reference's" if RARE in differs else near
        return f"Its policy loss is none of the {len(POLICY_LOSSES)} declared ones{near}."
    equal = sorted({other.trainer for other, empty in compared.items() if not empty} - {form.trainer})
    also = f", like {' and '.join(equal[:2])}" if equal and not differs and words == form.words else ""
    # A fixed length that a sum is divided by is a setting.
    times = 1.0 if " " in form.reduction else scale / _declared(form)[1]
    factor = "" if abs(times - 1) < 1e-5 else f"{times:.4g} times "
    return f"Its policy loss is {factor}{words}{also}{where}; on and off policy, to {tolerance:.0e}.".replace(
        "e-0", "e-"
    )


def _order(differs: tuple[str, ...]) -> tuple[bool, int, int]:
    """What differs next to a ratio of one is farthest; then counts what ratios do; then what adds up."""
    sums = sum(part in (*SUMS, PADDED) for part in differs)
    return any(part.startswith((OFF, RARE)) for part in differs), len(differs) - sums, sums


def _differences(own: Parts, other: Parts, tolerance: float) -> tuple[str, ...]:
    """Where gradients differ, relative to the larger of one and the largest."""
    return tuple(
        part
        for part, values in own.items()
        if not float((values - other[part]).abs().max()) <= tolerance * max(1.0, float(values.abs().max()))
    )


def _slopes(
    audited: Audited, x: Tensor, signs: Tensor, mask: Tensor, *, place: int = 0, first: bool = False
) -> Tensor:
    """The gradient in the tokens, (answers, tokens); at `first` the old policy is the policy."""
    shift, away = PLACES[place]
    log_pi = (x.clamp(max=0.0) - shift).requires_grad_()
    log_old = log_pi.detach() if first else (-x).clamp(max=0.0) - shift
    inputs = {"log_pi": log_pi, "log_ref": log_pi.detach() - away, "log_old": log_old, "mask": mask}
    return audited.slope({**inputs, "advantages": signs.expand_as(x).clone()})[1] * mask


def _weights(audited: Audited, x: Tensor, signs: Tensor) -> Tensor:
    """What its ratios make of each token's gradient, (places answers, tokens)."""
    weights = []
    for place in range(len(PLACES)):
        later, first = (
            _slopes(audited, x, signs, torch.ones_like(x), place=place, first=on) for on in (False, True)
        )
        if bool((first == 0).any()):
            raise LossError(SILENT)
        weights.append(later / first)
    return torch.cat(weights)


def _of_lengths(audited: Audited, lengths: tuple[int, ...], width: int) -> Tensor:
    """The gradient of a batch on policy whose answers have advantages 1 and -1 in turn."""
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).double()
    signs = (-1.0) ** torch.arange(len(lengths), dtype=torch.float64)[:, None]
    return _slopes(audited, torch.zeros_like(mask), signs, mask, first=True)


def _parts(audited: Audited) -> tuple[Parts, float]:
    """Gradients by where they are taken, and that of one token, by which those on policy are divided."""
    scale = float(_of_lengths(audited, (1,), 1))
    if scale == 0:
        raise LossError(
            SILENT if bool(_of_lengths(audited, (2, 2), 2).any()) else "its advantages move nothing"
        )
    parts = {}
    for part, batches in SUMS.items():
        if "mask" in audited.names or len({*batches[0]}) == 1:
            parts[part] = torch.cat(
                [_of_lengths(audited, batch, max(batch)).flatten() / scale for batch in batches]
            )
    one = torch.ones(1, 1, dtype=torch.float64)
    parts[RARE] = _slopes(audited, 0 * one, one, one, place=1, first=True) / scale
    if "mask" in audited.names:
        parts[PADDED] = _of_lengths(audited, (1,), 3) / scale
    for sign in (1.0, -1.0):
        which = f"A {'>' if sign > 0 else '<'} 0"
        tried: dict[str, tuple[float, ...]] = {f"{OFF}, {which}": (math.exp(SMALL), math.exp(-SMALL))}
        tried |= {f"where pi/old > 1 and {which}": UP, f"where pi/old < 1 and {which}": DOWN}
        for part, ratios in tried.items():
            x = torch.tensor(ratios, dtype=torch.float64).log()[:, None]
            parts[part] = _weights(audited, x, torch.full_like(x, sign))
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    signs = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]], dtype=torch.float64)
    both = [_weights(audited, size * x, signs) for size in (SMALL / 4, 0.3)]
    return {**parts, "where the ratios of an answer's tokens differ": torch.cat(both)}, scale


@cache
def _declared(form: PolicyForm) -> tuple[Parts, float]:
    """The gradients of a declared policy loss."""
    return _parts(Audited.from_function(form.loss))


def _clipped(audited: Audited) -> Iterator[tuple[PolicyForm, str]]:
    """Declared clipped forms with the ends at which this loss is clipped, and in words what is another's."""
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
