"""Reduction of a loss over tokens and answers, and its gradient by batch size if it couples answers.

The reduction is found by evaluating parts, doubles and paddings of one batch; the gradient by enumerating
batches of one, two and three answers.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from .called_loss import Audited, ExpectedLoss, LossError, LossInputs, padded
from .problem import Problem
from .quantities import match_gradient
from .report import Finding, Match, reduction

AGREES, AGREES32 = 1e-9, 1e-4
"""Relative agreement of two batches: in float64, and for a loss that computes in float32."""
REPEATED = (2, 16)
"""Numbers of times that a sequence's tokens are repeated."""
SIZES = (1, 2, 3)
MOST_BATCHES = 70
"""Most batches of one size that are enumerated on a problem."""
ValueAndSlopes = tuple[float, Tensor]


def reduction_of(audited: Audited, problem: Problem) -> Finding:
    """Find how a loss reduces over answers, tokens and padding, from values and slopes on small batches."""
    inputs = audited.batch(problem)
    return reduction(
        batch=_batch_reduction(audited, inputs, problem),
        tokens=_token_reduction(audited, inputs, problem),
        padding=_padding_effect(audited, inputs, problem) if "mask" in audited.names else "no mask",
    )


def _same(audited: Audited, one: ValueAndSlopes, other: ValueAndSlopes) -> bool:
    tolerance = AGREES32 if audited.in_float32 else AGREES
    values = torch.tensor([one[0], other[0]], dtype=torch.float64)
    return all(
        float((a - b).norm()) <= tolerance * max(float(a.norm()), float(b.norm()), 1e-6)
        for a, b in ((values[0], values[1]), (one[1], other[1]))
    )


def _batch_reduction(audited: Audited, inputs: LossInputs, problem: Problem) -> str:
    lengths = problem.lengths.tolist()
    places = [i for i, length in enumerate(lengths) if "mask" in audited.names or length == lengths[0]]
    batches = [[places[0], places[-1]], [places[-1], places[0]], [places[0], places[1]], places]
    try:
        batched = [audited.slope(audited.rows(inputs, batch, problem)) for batch in batches]
    except LossError:
        return "unknown"
    try:
        parts = [audited.slope(audited.rows(inputs, [i], problem)) for i in range(len(lengths))]
    except LossError:
        return "pairs only"

    def predicted(kind: str, batch: Sequence[int]) -> ValueAndSlopes:
        weights = problem.lengths[batch] if kind == "token mean" else torch.ones(len(batch)).double()
        weights = weights if kind == "sum" else weights / weights.sum()
        value = sum(float(weight) * parts[i][0] for weight, i in zip(weights, batch, strict=True))
        return value, torch.cat([weight * parts[i][1] for weight, i in zip(weights, batch, strict=True)])

    for kind in ("mean", "sum", "token mean"):
        expected = [predicted(kind, batch) for batch in batches]
        if all(map(partial(_same, audited), batched, expected)):
            return kind
    return "coupled"


def _token_reduction(audited: Audited, inputs: LossInputs, problem: Problem) -> str:
    longest = int(problem.lengths.argmax())
    width = int(problem.lengths[longest])
    once = {name: tensor[longest : longest + 1, :width] for name, tensor in inputs.items()}
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


def _padding_effect(audited: Audited, inputs: LossInputs, problem: Problem) -> str:
    real = {name: tensor[:, : problem.length] for name, tensor in inputs.items()}
    nothing = torch.zeros(1)

    def near(one: ValueAndSlopes, other: ValueAndSlopes, factor: float = 1.0) -> bool:
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


def _holed(inputs: LossInputs, fill: float) -> LossInputs:
    """Batch with masked tokens, filled by `fill`, after each answer's first token, like a tool's output."""
    wide = padded(inputs, 1, fill)
    width = wide["mask"].shape[1]
    return {name: tensor[:, [0, width - 1, *range(1, width - 1)]] for name, tensor in wide.items()}


def enumerate_batches(audited: Audited, problems: Sequence[Problem]) -> tuple[Finding, list[ExpectedLoss]]:
    """Finding on the gradient by batch size on single outcomes, and expected losses of pairs of answers."""
    matches: dict[int, Match] = {}
    pairs: list[ExpectedLoss] = []
    reason = ""
    for size in SIZES:
        small = [p for p in problems if len(p.token) ** size <= MOST_BATCHES]
        try:
            measured = [audited.measure(p, size=size) for p in small]
        except LossError as error:
            reason = reason or str(error)
            continue
        pairs = measured if size == 2 else pairs
        # The problems that are left are too small to find sums of more than two terms.
        outcomes = [m for m in measured if m.problem.length == 1]
        matches[size] = match_gradient(outcomes, in_float32=audited.in_float32, most_terms=2)
    if 2 not in matches:
        raise LossError(f"it couples the sequences of a batch, and fails on pairs of them: {reason}")
    names = {1: "one answer", 2: "two answers", 3: "three answers"}
    shown = {n: "zero" if match.name == "zero" else match.words.split(";")[0] for n, match in matches.items()}
    words = "; ".join(f"of {names[n]}: {text}" for n, text in shown.items())
    if len({*shown.values()}) == 1:
        words = f"of {' or '.join(names[n] for n in shown)}: {shown[2]}"
    return Finding(words, {"gradients": tuple(matches.items())}), pairs
