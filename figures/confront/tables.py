"""A confrontation as tables of text, for the terminal and for the page."""

from dataclasses import dataclass

from dph_theory.counts import Confrontation
from dph_theory.counts.estimate import Estimate
from dph_theory.counts.parts import told_ks
from dph_theory.counts.result import Named

SHOWN = 12
"""The most prompts of a kind that a table names."""
_LONGEST = 60


@dataclass(frozen=True)
class Table:
    """A title, the columns' names, and rows of text."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(found: Confrontation) -> list[Table]:
    """Pass@k, the parts of its change, the laws, the prompts that stand out, and what the rest would take."""
    made = [_pass_at_k(found), _parts(found), _laws(found)]
    made += [
        _prompts(f"{found.off.count} prompts off the best law", found.off),
        _prompts(f"{found.fell.count} prompts that fell", found.fell),
        _prompts(f"{found.rose.count} prompts that rose", found.rose),
    ]
    if found.spending is not None:
        made.append(_spending(found))
    if found.needed is not None:
        rows = ((f"{n.n}", f"{n.prompts}", f"{n.detectable:.4f}") for n in found.needed)
        headers = ("answers to each", "prompts needed", f"told apart by {found.prompts} prompts")
        made.append(Table("what the difference of Pass@1 takes (power 0.8)", headers, tuple(rows)))
    return [table for table in made if table.rows]


def _pass_at_k(found: Confrontation) -> Table:
    drawn, shown = found.curves, set(told_ks(found.curves.k[-1]))
    rows = []
    for i, k in enumerate(drawn.k):
        if k in shown or len(drawn.k) <= SHOWN:
            sign = "better" if k in drawn.better else "worse" if k in drawn.worse else "not told"
            gap = _signed(Estimate(drawn.difference[i], drawn.low[i], drawn.high[i]))
            rows.append((f"{k}", f"{drawn.base[i]:.4f}", f"{drawn.run[i]:.4f}", gap, sign))
    headers = ("k", "base", "run", "difference [band over all k]", "the run is")
    return Table("Pass@k", headers, tuple(rows))


def _parts(found: Confrontation) -> Table:
    rows = ((f"{p.k}", *map(_signed, (p.change, p.solved_set, p.narrowing))) for p in found.parts)
    headers = ("k", "change of Pass@k", "prompts newly solved less lost", "prompts both solve")
    return Table("what the change is made of", headers, tuple(rows))


def _laws(found: Confrontation) -> Table:
    rows = tuple(
        (
            line.law,
            str(line.beta) if line.beta else "-",
            _signed(line.held_out, 3),
            str(line.dispersion) if line.dispersion else "-",
        )
        for line in found.laws
    )
    headers = ("law", "beta", "held-out answers, nats a prompt", "dispersion")
    return Table("laws of training, best first", headers, rows)


def _prompts(title: str, named: Named) -> Table:
    rows = tuple(
        (shortened(p.id), f"{p.before:.4f}", f"{p.after:.4f}", f"{p.predicted:.4f}")
        for p in named.prompts[:SHOWN]
    )
    return Table(title, ("prompt", "before", "after", "best law"), rows)


def _spending(found: Confrontation) -> Table:
    spent = found.spending
    named = {} if spent is None else {
        "KL(run || base)": spent.total,
        "least at these pass rates": spent.least,
        "excess": spent.excess,
        "excess among correct answers": spent.correct,
        "excess among incorrect answers": spent.incorrect,
    }  # fmt: skip
    rows = ((name, _signed(value, 4)) for name, value in named.items() if value is not None)
    return Table("KL, nats a prompt", ("part", "mean over prompts"), tuple(rows))


def shortened(text: str) -> str:
    """A prompt's id on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _signed(found: Estimate, digits: int = 4) -> str:
    return f"{found.value:+.{digits}f} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
