"""A confrontation's tables: Pass@k and its parts, the laws, prompts that stand out, KL, power."""

from collections.abc import Iterator
from itertools import groupby

from dph_theory.counts import Confrontation
from dph_theory.counts.estimate import Estimate
from dph_theory.counts.parts import told_ks
from dph_theory.counts.result import Named

from ..look.tables import Table

SHOWN = 12
"""The most prompts of a kind that a table names."""
_LONGEST = 60


def tables(found: Confrontation) -> list[Table]:
    """Those that have rows."""
    made = [
        _pass_at_k(found),
        _parts(found),
        _laws(found),
        _prompts(f"{found.off.count} prompts off the best law", found.off),
        _prompts(f"{found.fell.count} prompts that fell", found.fell),
        _prompts(f"{found.rose.count} prompts that rose", found.rose),
        _spending(found),
        *_needed(found),
    ]
    return [table for table in made if table.rows]


def _pass_at_k(found: Confrontation) -> Table:
    drawn, shown = found.curves, set(told_ks(found.curves.k[-1]))
    rows = []
    for i, k in enumerate(drawn.k):
        if k in shown or len(drawn.k) <= SHOWN:
            sign = "better" if k in drawn.better else "worse" if k in drawn.worse else "not told"
            gap = Estimate(drawn.difference[i], drawn.low[i], drawn.high[i])
            rows.append((k, drawn.base[i], drawn.run[i], gap, sign))
    return Table.of(("k", "base", "run", "difference [band over all k]", "the run is"), rows, "Pass@k")


def _parts(found: Confrontation) -> Table:
    head = ("k", "change of Pass@k", "prompts newly solved less lost", "prompts both solve")
    rows = ((p.k, p.change, p.solved_set, p.narrowing) for p in found.parts)
    return Table.of(head, rows, "what the change is made of")


def _laws(found: Confrontation) -> Table:
    head = ("law", "beta", "held-out answers, nats a prompt", "dispersion")
    rows = ((line.law, line.beta, line.held_out, line.dispersion) for line in found.laws)
    return Table.of(head, rows, "laws of training, best first")


def _prompts(title: str, named: Named) -> Table:
    rows = ((shortened(p.id), p.before, p.after, p.predicted) for p in named.prompts[:SHOWN])
    return Table.of(("prompt", "before", "after", "best law"), rows, title)


def _spending(found: Confrontation) -> Table:
    spent = found.spending
    named = {} if spent is None else {
        "KL(run || base)": spent.total,
        "least at these pass rates": spent.least,
        "excess": spent.excess,
        "excess among correct answers": spent.correct,
        "excess among incorrect answers": spent.incorrect,
    }  # fmt: skip
    rows = ((name, value) for name, value in named.items() if value is not None)
    return Table.of(("part", "mean over prompts"), rows, "KL, nats a prompt")


def _needed(found: Confrontation) -> Iterator[Table]:
    detectable = f"told apart by {found.prompts} prompts"
    head = ("answers to each", "prompts, this k alone", "prompts, band over all k", detectable)
    for (difference, k), lines in groupby(found.needed, key=lambda line: (line.difference, line.k)):
        rows = ((n.n, n.prompts, n.prompts_in_band, n.detectable) for n in lines)
        yield Table.of(head, rows, f"what a difference of {difference:g} in Pass@{k} takes (power 0.8)")


def shortened(text: str) -> str:
    """A prompt's id on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
