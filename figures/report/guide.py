"""Which divergence should I use? Answered in Markdown from the stored results; no number is typed in."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toy_lm import strategies
from toy_lm.collapse.results import FAMILIES, Reference, read, select
from toy_lm.strategies.summary import Direction, directions

from ..results import store

Record = Mapping[str, Any]

KINDS = {
    "collapse": ("toy_collapse", "toy.collapse", "dph toy collapse"),
    "strategies": ("toy_strategies", "toy.strategies", "dph toy strategies"),
    "styles": ("toy_styles", "toy.styles", "dph toy styles"),
    "demo": ("full_scale_demo", "full_scale.demo", "dph demo"),
}
"""The records that are answered from: the file's name, the record's kind, the command that makes it."""
TEMPLATE = Path(__file__).with_suffix(".md")
"""The page's own words, with places for those that depend on numbers."""
FADED = 0.01
"""A difference of Pass@k below this is called hardly any."""


def records(folder: Path = store.NUMBERS) -> dict[str, Record]:
    """Those of the records that are stored; ValueError for one that is something else."""
    found = {name: kind for name, kind in KINDS.items() if (folder / f"{kind[0]}.json").is_file()}
    return {name: store.load(file, kind, folder) for name, (file, kind, _) in found.items()}


def guide(stored: Mapping[str, Record]) -> str:
    """The page, from the records of the three toy experiments and, if there, the full-scale demo's."""
    shared, styles, collapse = _toys(stored)
    return TEMPLATE.read_text(encoding="utf-8").format(
        anchor=_anchor(shared),
        direction=_direction(shared),
        by_strength=_by_strength(shared),
        transformer=_transformer(styles),
        by_method=_by_method(styles),
        strength=_strength(shared),
        place=_place(shared),
        misspecified=_misspecified(collapse),
        kept=_kept(collapse),
        said="\n".join(_said(KINDS[name][2], record["findings"]) for name, record in stored.items()),
    )


def in_short(stored: Mapping[str, Record]) -> str:
    """What was found, a line an experiment, with the command that finds it."""
    shared, styles, collapse = _toys(stored)
    changes = f"{_change(shared, 'GRPO')}; {_change(shared, 'DPH-F')}"
    lines = {
        "strategies": f"{changes}. {_direction(shared)}",
        "styles": _transformer(styles),
        "collapse": _misspecified(collapse),
    }
    if "demo" in stored:
        # The last two sentences sum up the expected differences and the predictions.
        lines["demo"] = " ".join(stored["demo"]["findings"][-2:])
    return "\n".join(f"- `{KINDS[name][2]}`: {words}" for name, words in lines.items())


def _toys(stored: Mapping[str, Record]) -> tuple[Record, Record, Record]:
    return stored["strategies"], stored["styles"], stored["collapse"]


def _anchor(record: Record) -> str:
    """What becomes of Pass@k without one, and with the weakest that keeps it."""
    base, k = record["results"]["base"], record["config"]["coverage_draws"]
    kept = [row for row in _at(record, "D_pef") if row.pass_at_k["forward KL"] >= base["pass_at_k"]]
    words = f"{_change(record, 'GRPO')}; {_change(record, 'DPH-F')} (`dph toy strategies`). "
    if kept:
        weakest = min(row.strength for row in kept)
        words += f"There a forward KL of strength {weakest:.3g} is the weakest tried that keeps Pass@{k}. "
    else:
        words += f"There no strength of the forward KL that was tried keeps Pass@{k}. "
    return words + (
        "Prompts of one type alone lose nothing: with one policy a prompt, the higher Pass@1 has the higher "
        "Pass@k ([D3](theorems/d03.md)); it is sharing that makes the anchor necessary."
    )


def _change(record: Record, name: str) -> str:
    base = record["results"]["base"]
    method = next(m for m in record["results"]["methods"] if m["name"] == name)
    k = record["config"]["coverage_draws"]
    return (
        f"{name} moves Pass@1 from {base['pass_at_1']:.3f} to {method['pass_at_1']:.3f} and Pass@{k} from "
        f"{base['pass_at_k']:.3f} to {method['pass_at_k']:.3f}"
    )


def _at(record: Record, place: str) -> list[Direction]:
    """The comparison of directions at one place, from the weakest anchor to the strongest."""
    config, results = strategies.read(record)
    return [row for row in directions(config, results.sweep) if row.place == place]


def _direction(record: Record) -> str:
    rows, k = _at(record, "D_pef"), record["config"]["coverage_draws"]
    widest = max(rows, key=lambda row: abs(row.gap))
    ahead, behind = ("forward KL", "reverse KL") if widest.gap > 0 else ("reverse KL", "forward KL")
    alike = [row.strength for row in rows if abs(row.gap) < FADED]
    strong = [s for s in alike if all(t in alike for t in (r.strength for r in rows) if t >= s)]
    fades = (
        f"from strength {min(strong):.3g} on the two differ by less than {FADED:g}"
        if strong
        else f"they differ by more than {FADED:g} even at the strongest"
    )
    return (
        f"At equal strength eta f''(1) on D_pef the {ahead} keeps more than the {behind} where the choice "
        f"matters most: Pass@{k} {widest.pass_at_k[ahead]:.3f} against {widest.pass_at_k[behind]:.3f} "
        f"at strength {widest.strength:.3g}; {fades}."
    )


def _by_strength(record: Record) -> str:
    rows, k = _at(record, "D_pef"), record["config"]["coverage_draws"]
    names = list(rows[0].pass_at_k)
    cells = [
        [f"{row.strength:.3g}", *(f"{row.pass_at_k[n]:.3f}" for n in names), f"{row.gap:+.3f}"]
        for row in rows
    ]
    head = [f"eta f''(1); Pass@{k}:", *names, "forward less reverse"]
    return _table(head, cells)


def _strength(record: Record) -> str:
    base, rows, k = record["results"]["base"], _at(record, "D_pef"), record["config"]["coverage_draws"]
    both = [
        row.strength
        for row in rows
        if row.pass_at_1["forward KL"] > base["pass_at_1"] and row.pass_at_k["forward KL"] > base["pass_at_k"]
    ]
    best = max(rows, key=lambda row: row.pass_at_1["forward KL"])
    span = (
        f"At strengths from {min(both):.3g} to {max(both):.3g} of those tried, the forward KL on D_pef "
        f"raises both Pass@1 and Pass@{k}"
        if both
        else f"No strength that was tried raises both Pass@1 and Pass@{k}"
    )
    return (
        f"{span}; Pass@1 is highest at {best.strength:.3g}, with {best.pass_at_1['forward KL']:.3f} "
        f"and Pass@{k} {best.pass_at_k['forward KL']:.3f}. Strength is eta f''(1): compare divergences at "
        "equal strength, which asks for twice the eta with the JS generator and the same with alpha "
        "([B9](theorems/b09.md)). The scale depends on the model and the optimiser: in a run of yours, raise "
        "eta until the excess KL stays flat."
    )


def _place(record: Record) -> str:
    found, k = {m["name"]: m for m in record["results"]["methods"]}, record["config"]["coverage_draws"]
    here, everywhere = found["DPH-F"], found["forward KL on all prompts"]
    one, many = (everywhere[key] - here[key] for key in ("pass_at_1", "pass_at_k"))
    verdict = "buys coverage with Pass@1" if one < 0 < many else "changes them so"
    return (
        f"At strength {record['config']['strength']:g}, an anchor on all prompts instead of those that the "
        f"base solves (D_pef) {verdict}: Pass@1 {one:+.3f}, Pass@{k} {many:+.3f}."
    )


def _misspecified(record: Record) -> str:
    """The reference problem, family by family: reverse KL at the largest 1/beta, forward KL."""
    reference = read(record).reference
    return " ".join(_family(reference, family) for family in FAMILIES)


def _family(reference: Reference, family: str) -> str:
    reverse, forward = reference.optima(family)[-1], reference.forward_kl(family)
    fate = "collapses onto one answer" if reverse.collapsed else "does not collapse"
    more = forward.coverage - reverse.coverage
    trade = "keeps more of the answers" if more > FADED else "keeps no more of the answers"
    return (
        f"Among {family} bigram models the best fit in reverse KL at {reverse.label} {fate} "
        f"(coverage {reverse.coverage:.3f}, pass rate {reverse.validity:.3f}); the forward KL {trade} "
        f"(coverage {forward.coverage:.3f}), at a pass rate of {forward.validity:.3f}."
    )


def _kept(record: Record) -> str:
    """On random problems: the share of the effective number that each fit keeps, and its pass rate."""
    rows = []
    for problem in read(record).random:
        for family in FAMILIES:
            rates = select(problem.rates, family=family)
            minima = select(rates, objective="reverse_kl", method="global")
            reverse = max(minima, key=lambda rate: rate.mu or 0.0)
            others = (select(rates, objective=name)[0] for name in ("forward_kl", "reward"))
            cells = (f"{fit.effective_kept:.2f} at {fit.validity:.2f}" for fit in (reverse, *others))
            rows.append([f"{problem.name}, {family}", *cells])
    head = ("Share of the effective number of answers kept, at a pass rate of", "reverse KL", "forward KL")
    return _table((*head, "reward alone"), rows)


def _transformer(record: Record) -> str:
    """Which methods end below the base's interval of Pass@16 over seeds, which is best, and other prompts."""
    base, *methods = _scores(record).items()
    low = base[1]["pass@16"]["low"]
    lost = [f"{name} ({_one(s)} / {_many(s)})" for name, s in methods if s["pass@16"]["high"] < low]
    best = max(methods, key=lambda method: method[1]["pass@16"]["mean"])
    fallen = f"falls below the base's interval with {', '.join(lost)}" if lost else "falls with none"
    (_, bar), *held_out = _scores(record, "held_out").items()
    better = sum(s["pass@16"]["mean"] > bar["pass@16"]["mean"] for _, s in held_out)
    alike = [name for name, s in methods if s["pass@16"]["high"] >= best[1]["pass@16"]["low"]]
    told = f"whose interval overlaps those of {len(alike) - 1} of the {len(methods) - 1} other methods"
    too = " and the base's" if base[1]["pass@16"]["high"] >= best[1]["pass@16"]["low"] else ""
    return (
        f"In a tiny transformer, Pass@1 / Pass@16 on training prompts in the mean over "
        f"{len(record['results']['bases'])} seeds: base {_one(base[1])} / {_many(base[1])}; Pass@16 with its "
        f"interval {fallen}; the best is {best[0]} ({_one(best[1])} / {_many(best[1])}), {told}{too}. "
        f"On held-out prompts {better or 'none'} of {len(held_out)} methods "
        f"exceed{'s' if better < 2 else ''} the base's Pass@16 of {_many(bar)}."
    )


def _by_method(record: Record) -> str:
    rows = [
        [name, _one(s), _many(s), f"{s['pass@16']['low']:.3f} to {s['pass@16']['high']:.3f}"]
        for name, s in _scores(record).items()
    ]
    return _table(["method, strength", "Pass@1", "Pass@16", "its 95% interval over seeds"], rows)


def _scores(record: Record, prompts: str = "train") -> dict[str, Record]:
    return {name: split[prompts] for name, split in record["results"]["summary"]["methods"].items()}


def _one(scores: Record) -> str:
    return f"{scores['pass@1']['mean']:.3f}"


def _many(scores: Record) -> str:
    return f"{scores['pass@16']['mean']:.3f}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _said(command: str, findings: Iterable[str]) -> str:
    escaped = (words.replace("*", r"\*").replace("_", r"\_").replace("|", r"\|") for words in findings)
    return "\n".join((f"### `{command}`\n", *(f"- {words}" for words in escaped), ""))
