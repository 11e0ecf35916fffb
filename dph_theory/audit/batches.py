"""How a loss adds up tokens and sequences, and what it minimises by batch size where it couples them.

The first is found by evaluating parts, doubles and paddings of one batch; the second by enumerating batches
of one, two and three sequences.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .exact import Audited, Given, LossError, Measured, Problem, padded
from .quantities import match_gradient
from .report import AddingUp, Batches, Match

AGREES, AGREES32 = 1e-9, 1e-4
"""Relative agreement of two batches that counts: in float64, and for a loss that computes in float32."""
REPEATED = (2, 16)
"""How often a sequence's tokens are repeated: what stops counting after so many shows."""
SIZES = (1, 2, 3)
MOST_BATCHES = 70
"""Problems with more batches of a size than this are left out for that size."""
Sloped = tuple[float, Tensor]


def reduction_of(audited: Audited, problem: Problem) -> AddingUp:
    """The reduction of a loss, by its values and slopes on some batches of a problem.

    The problem's sequences should differ in length where the loss takes a mask.
    """
    given = audited.batch(problem)
    padding = _padding(audited, given, problem) if "mask" in audited.names else "no mask"
    return AddingUp(_batch(audited, given, problem), _tokens(audited, given, problem), padding)


def _same(audited: Audited, found: Sloped, wanted: Sloped) -> bool:
    """Whether two losses and their slopes agree."""
    values = (torch.tensor(each[0], dtype=torch.float64) for each in (found, wanted))
    tolerance = AGREES32 if audited.single else AGREES
    return all(
        float((a - b).norm()) <= tolerance * max(float(a.norm()), float(b.norm()), 1e-6)
        for a, b in (tuple(values), (found[1], wanted[1]))
    )


def _batch(audited: Audited, given: Given, problem: Problem) -> str:
    count = len(problem.token)
    alike = [i for i in range(count) if "mask" in audited.names or problem.lengths[i] == problem.lengths[0]]
    batches = [[alike[0], alike[-1]], [alike[-1], alike[0]], [alike[0], alike[1]], alike]
    try:
        whole = [audited.slope(audited.rows(given, chosen, problem)) for chosen in batches]
    except LossError:
        return "unknown"
    try:
        parts = [audited.slope(audited.rows(given, [i], problem)) for i in range(count)]
    except LossError:
        return "pairs only"

    def predicted(kind: str, chosen: Sequence[int]) -> Sloped:
        weights = problem.lengths[chosen] if kind == "token mean" else torch.ones(len(chosen)).double()
        weights = weights if kind == "sum" else weights / weights.sum()
        each = [(float(w) * parts[i][0], w * parts[i][1]) for w, i in zip(weights, chosen, strict=True)]
        return sum(value for value, _ in each), torch.cat([slope for _, slope in each])

    for kind in ("mean", "sum", "token mean"):
        if all(_same(audited, at, predicted(kind, of)) for at, of in zip(whole, batches, strict=True)):
            return kind
    return "coupled"


def _tokens(audited: Audited, given: Given, problem: Problem) -> str:
    longest = int(problem.lengths.argmax())
    width = int(problem.lengths[longest])
    once = {name: tensor[longest : longest + 1, :width] for name, tensor in given.items()}
    kinds = {"mean", "sum"}
    try:
        value, slope = audited.slope(once)
        for times in REPEATED:
            longer = audited.slope({name: tensor.repeat(1, times) for name, tensor in once.items()})
            for kind, factor in (("mean", 1.0), ("sum", float(times))):
                if not _same(audited, longer, (factor * value, factor / times * slope.repeat(1, times))):
                    kinds.discard(kind)
    except LossError:
        return "other"
    return kinds.pop() if len(kinds) == 1 else "other"


def _padding(audited: Audited, given: Given, problem: Problem) -> str:
    real = {name: tensor[:, : problem.length] for name, tensor in given.items()}
    nothing = torch.zeros(1)

    def near(one: Sloped, other: Sloped, factor: float = 1.0) -> bool:
        return _same(audited, (one[0], nothing), (factor * other[0], nothing))

    try:
        behind, other = (audited.slope(padded(real, 1, fill)) for fill in (-1.0, -2.5))
        wide = audited.slope(padded(real, 3))
        holed, also = (audited.slope(_holed(real, fill)) for fill in (-1.0, -2.5))
    except LossError:
        return "other"
    hidden = padded(real, 1)["mask"] == 0
    if not near(behind, other) or bool((behind[1][hidden] != 0).any()):
        return "ignores its mask"
    ignored = near(behind, wide)
    if bool((holed[1][:, 1] != 0).any()) or not near(holed, also) or (ignored and not near(behind, holed)):
        return "fills holes"
    if ignored:
        return "ignored"
    ratio = (problem.length + 1) / (problem.length + 3)
    return "divides by the padded length" if near(wide, behind, ratio) else "other"


def _holed(given: Given, fill: float) -> Given:
    """The same, but what was padded behind the answers stands after their first token: a tool's tokens."""
    wide = padded(given, 1, fill)
    width = wide["mask"].shape[1]
    return {name: tensor[:, [0, width - 1, *range(1, width - 1)]] for name, tensor in wide.items()}


def enumerate_batches(audited: Audited, problems: Sequence[Problem]) -> tuple[Batches, list[Measured]]:
    """What the loss minimises on single outcomes at each batch size, and the problems measured at two.

    Of sums with two terms at most: the problems that are left are too small to find more. Raises LossError
    if it can be evaluated at no size.
    """
    found: dict[int, Match] = {}
    pairs: list[Measured] = []
    why = ""
    for size in SIZES:
        small = [p for p in problems if len(p.token) ** size <= MOST_BATCHES]
        try:
            measured = [audited.measure(p, size=size) for p in small]
        except LossError as error:
            why = why or str(error)
            continue
        pairs = measured if size == 2 else pairs
        outcomes = [m for m in measured if m.problem.length == 1]
        found[size] = match_gradient(outcomes, single=audited.single, most_terms=2)
    if 2 not in found:
        raise LossError(f"it couples the sequences of a batch, and fails on pairs of them: {why}")
    return Batches(tuple(found.items())), pairs
