"""The experiment in three sentences, with its numbers filled in."""

from .config import Config
from .results import Results
from .summary import directions


def findings(config: Config, results: Results) -> list[str]:
    """Training without and with an anchor, when the direction of its KL matters, and random tasks."""
    base, k = results.base, config.coverage_draws
    free, held = results.method("GRPO"), results.method("DPH-F")
    rows = [row for row in directions(config, results.sweep) if row.place == "D_pef"]
    widest, strongest = max(rows, key=lambda row: abs(row.gap)), rows[-1]
    changes = "; ".join(
        "{} {:+.3f} ({:+.3f} to {:+.3f})".format(row.name, *row.pass_at_k_change)
        for row in results.random_tasks
    )
    return [
        f"The base has Pass@1 {base.pass_at_1:.3f} and Pass@{k} {base.pass_at_k:.3f}; GRPO ends at "
        f"{free.pass_at_1:.3f} and {free.pass_at_k:.3f}, DPH-F (GRPO with a forward-KL anchor on the prompts "
        f"D_pef that the base solves, strength {config.strength:g}) at {held.pass_at_1:.3f} and "
        f"{held.pass_at_k:.3f}.",
        "At equal strength eta f''(1), eta the weight of the KL, its direction on D_pef matters most at "
        f"{widest.strength:g}: Pass@{k} is {widest.pass_at_k['forward KL']:.3f} with the forward and "
        f"{widest.pass_at_k['reverse KL']:.3f} with the reverse KL; at strength {strongest.strength:g} the "
        f"two differ by {abs(strongest.gap):.4f}.",
        f"Over {config.random_tasks} random tasks the mean change of Pass@{k} (with its 95% interval) is: "
        f"{changes}.",
    ]
