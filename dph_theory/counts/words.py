"""A confrontation in five lines."""

from .curves import Curves
from .estimate import Estimate
from .kept import Kept
from .parts import Parts
from .result import Confrontation


def five_lines(found: Confrontation) -> tuple[str, str, str, str, str]:
    """What was compared, Pass@k, which prompts, which law, and what a loss is made of."""
    return (_data(found), _pass_at_k(found.curves), _prompts(found), _theory(found), _loss(found))


def percent(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.1f}%"


def interval(found: Estimate, digits: int = 2) -> str:
    """A number with its interval."""
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def chance(p_value: float) -> str:
    """A p-value as it is told."""
    return "p < 1e-10" if p_value < 1e-10 else f"p = {p_value:.2g}"


def _data(found: Confrontation) -> str:
    low, high = found.answers
    each = f"{low}" if low == high else f"{low} to {high}"
    left_out = found.base.unmatched + found.run.unmatched
    missing = f"; {left_out} prompts that only one file has are left out" if left_out else ""
    cut = "".join(
        f"; {side.name} ends in an unfinished line" for side in (found.run, found.base) if side.cut_off
    )
    return (
        f"{found.run.name} against {found.base.name} on {found.prompts} prompts, "
        f"{each} answers to each{missing}{cut}."
    )


def _pass_at_k(found: Curves) -> str:
    first, last = found.k[0], found.k[-1]
    words = f"Pass@{first} goes from {percent(found.base[0])} to {percent(found.run[0])}"
    if last != first:
        words += f", Pass@{last} from {percent(found.base[-1])} to {percent(found.run[-1])}"
    gains, losses = _spans(found.better), _spans(found.worse)
    words += f"; better at k = {gains}" if gains else "; better at no k"
    words += f", worse at k = {losses}" if losses else ", worse at no k"
    words += " (95%, all k at once)"
    if found.first_worse is not None:
        start, end = found.first_worse
        if end is not None:
            return f"{words}; the first k at which it is worse lies between {start} and {end}."
        if start <= last:
            return f"{words}; whether it is worse at any k from {start} on these counts cannot say."
        return f"{words}; it is better at every k tested."
    return words + "."


def _spans(ks: tuple[int, ...]) -> str:
    """Numbers with runs of neighbours joined, at most four pieces."""
    pieces: list[list[int]] = []
    for k in ks:
        if pieces and pieces[-1][1] == k - 1:
            pieces[-1][1] = k
        else:
            pieces.append([k, k])
    told = [str(a) if a == b else f"{a} to {b}" for a, b in pieces]
    return ", ".join(told[:4]) + (", ..." if len(told) > 4 else "")


def _prompts(found: Confrontation) -> str:
    some: Kept = found.kept
    kept, new = "The base solves no prompt", "it solves every prompt"
    if some.kept is not None and some.kept_unchanged is not None:
        kept = (
            f"Of {some.solved_by_base} prompts that the base solves the run keeps {percent(some.kept.value)}"
        )
        kept += f" (an unchanged model would keep {percent(some.kept_unchanged)})"
    if some.new is not None and some.new_unchanged is not None:
        new = f"of the others {some.gained} are newly solved, {percent(some.new.value)}"
        new += f" (unchanged: {percent(some.new_unchanged)})"
    return (
        f"{kept}, and {new}; lost {some.lost} against gained {some.gained}: {chance(some.p_value)}. "
        f"By each prompt's own counts {found.fell.count} fell and {found.rose.count} rose."
    )


def _theory(found: Confrontation) -> str:
    moved = found.gain
    words = f"Log odds move by {interval(moved.pooled)} (pooled)"
    one = (
        "one shift for all prompts fits" if moved.p_one_shift > 0.05 else "one shift does not fit all prompts"
    )
    words += f"; {one} ({chance(moved.p_one_shift)}, standard deviation {interval(moved.spread)})"
    best = next(line for line in found.laws if line.law == found.best_law)
    beta = f" at beta = {interval(best.beta, 3)}" if best.beta else ""
    words += f". Of the laws {best.law}{beta} predicts held-out answers best"
    top = found.laws[0]
    if top.law != best.law:
        words += f", {-best.held_out.value:.2f} nats a prompt behind {top.law}"
    if best.beta and best.beta.high > 10 * best.beta.low:
        words += ", though the counts hardly fix a beta"
    return f"{words}; {found.off.count} prompts are off it."


def _loss(found: Confrontation) -> str:
    # From k beyond half the answers on, whoever is solved at all counts nearly as one.
    half = [part for part in found.parts if 2 * part.k <= found.answers[0]] or list(found.parts)
    least = min(half, key=lambda part: part.change.value)
    if least.change.high < 0:
        words = f"Pass@{least.k} falls by {percent(-least.change.value)}: {_made_of(least)}"
    else:
        words = "No fall of Pass@k is established at the k of the table"
    if found.spending is not None:
        spent = found.spending
        words += (
            f". KL to the base is {interval(spent.total)} nats, {interval(spent.excess)} more than the least "
            "at these pass rates"
        )
    if found.styles is not None:
        kinds = found.styles
        words += f". Styles in {kinds.k} answers: {kinds.base.value:.2f} before, {kinds.run.value:.2f} after"
    return words + "."


def _made_of(loss: Parts) -> str:
    """What a fall is made of, then what there is against it."""
    solved_set, narrowing = loss.solved_set.value, loss.narrowing.value
    told = (
        (solved_set < 0, f"{percent(-solved_set)} because more prompts are lost than newly solved"),
        (narrowing < 0, f"{percent(-narrowing)} because prompts still solved are solved more rarely"),
        (solved_set > 0, f"less {percent(solved_set)} because more prompts are newly solved than lost"),
        (narrowing > 0, f"less {percent(narrowing)} gained on prompts that both solve"),
    )
    return ", ".join(words for holds, words in told if holds)
