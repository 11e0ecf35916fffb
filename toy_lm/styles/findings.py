"""The experiment in three sentences, with its numbers filled in."""

from .results import Results
from .summary import FALL, Score, scores, warnings


def findings(results: Results) -> list[str]:
    """Which method keeps the most and the least on training prompts, what others gain, and the meter."""
    base, *methods = scores(results, "train").items()
    best, worst = (choose(methods, key=lambda m: float(m[1].pass_at_16.mean)) for choose in (max, min))
    held_base, *held_out = scores(results, "held_out").values()
    better = sum(bool(score.pass_at_16.mean > held_base.pass_at_16.mean) for score in held_out)
    meter = warnings(results)[1]
    fallen, stood = len(meter.fallen), len(meter.leads) - len(meter.fallen)
    return [
        f"Pass@1 and Pass@16 on training prompts, means over {len(results.bases)} seed(s): {_told(*base)}; "
        f"the method with the highest Pass@16 is {_told(*best)}, the one with the lowest {_told(*worst)}.",
        f"On held-out prompts {better} of {len(held_out)} methods exceed the base's Pass@16 of "
        f"{held_base.pass_at_16.mean:.3f}.",
        f"A rise of the excess KL by {meter.rise:g} nats came before a fall of Pass@16 by {FALL:g} in "
        f"{meter.warned_before} of the {fallen} runs that fell, and in {meter.false_alarms} of the {stood} "
        "that did not.",
    ]


def _told(label: str, score: Score) -> str:
    return f"{label} ({score.pass_at_1.mean:.3f} and {score.pass_at_16.mean:.3f})"
