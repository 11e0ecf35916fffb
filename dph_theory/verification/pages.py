"""The registry as Markdown: a page a family of theorems, and the index of them all."""

from collections import Counter
from collections.abc import Sequence

from ..kernel.files import definition_texts, statement
from ..references import REFERENCES
from ..statement.theorem import Claim, FalseNeighbour, FalseStep, Kernel, Relation, Theorem, Verdict
from ..support.table import escaped
from ..theorems import FAMILIES, THEOREMS
from .checks import CHECKS, applies

MEANINGS = {
    Verdict.PROVED: "the whole statement, by the proof kernel or by claims decided for all values",
    Verdict.DERIVED: "each scalar step is decided symbolically; sentences that no machine read join them",
    Verdict.ENCLOSED: "ball arithmetic decides every instance of the boxes given",
    Verdict.CERTIFIED: "in ball arithmetic at a few instances both sides agree to 30 digits, or are disjoint",
    Verdict.HOLDS: "only searched: random instances, extreme corners, an optimiser for the worst violation",
    Verdict.REFUTED: "a violation was found; a published claim that is false is registered as such",
    Verdict.UNDECIDED: "none of these",
}
"""What each verdict says that was checked."""
_CHECKS = {
    "kernel": "the proof kernel, Coq, for every number of outcomes",
    "symbolic": "a derivation, decided by sympy and z3",
    "numeric": "random instances, extreme corners included",
    "adversarial": "an optimiser that looks for the worst violation",
    "certified": "ball arithmetic at rational instances",
    "enclosed": "ball arithmetic on whole boxes",
}
_RELATIONS = {
    Relation.EQUAL: "both sides are equal",
    Relation.AT_MOST: "the left side is at most the right one",
    Relation.TENDS: "the left side tends to the right one",
}
_AGAIN = "This page is written from the registry by `python docs/generate.py`."


def members(name: str) -> list[Theorem]:
    """The theorems of a family, in the registry's order."""
    return [theorem for theorem in THEOREMS.values() if theorem.family == name]


def file_name(name: str) -> str:
    """The file of a family's page; A5 gives a05.md, so that folders list them in order."""
    return f"{name[0].lower()}{int(name[1:]):02d}.md"


def pages() -> dict[str, str]:
    """Every page by the name of its file: the index, and one a family."""
    return {"index.md": index()} | {file_name(name): family_page(name) for name in FAMILIES}


def index() -> str:
    """The page that lists the families, what is expected of them, and the papers."""
    counts = Counter(theorem.expected for theorem in THEOREMS.values())
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    neighbours = sum(len(theorem.false_neighbours) for theorem in THEOREMS.values())
    rows = [
        f"| [{name}]({file_name(name)}) | {escaped(title)} | {_tally(members(name))} |"
        for name, title in FAMILIES.items()
    ]
    papers = [
        f"- `{key}`: {escaped(f'{paper.authors}, {paper.title}, {paper.where}')}."
        for key, paper in REFERENCES.items()
    ]
    return "\n".join(
        (
            "# The theorems\n",
            f"{len(THEOREMS)} statements in {len(FAMILIES)} families; expected verdicts: {words}. "
            f"{neighbours} false neighbours, statements next to a theorem that are false, must fail at the "
            f"instances kept with them. `dph verify` checks all. {_AGAIN}\n",
            "Notation: a finite outcome space; base policy a > 0; verifier v with values 0 and 1; Y1 the "
            "outcomes it accepts, A1 = a(Y1), A0 = 1 - A1; p\\_\\* is a given Y1, p\\_0 is a given the rest; "
            "p\\_beta is proportional to a e^(v/beta); u = pi/pi\\_ref; kl is the Bernoulli KL; TV is half "
            "the L1 distance; logs are natural; D\\_f(pi \\|\\| ref) = E\\_ref[f(u)], policy first.\n",
            "| family | about | expected |",
            "| --- | --- | --- |",
            *rows,
            "\n## Papers\n",
            *papers,
            "",
        )
    )


def family_page(name: str) -> str:
    """The page of one family: each theorem's statement, source, expected verdict, checks, neighbours."""
    head = (
        f"# {name}. {FAMILIES[name]}\n\n"
        f"`dph verify {name}` checks what stands here. {_AGAIN} Notation: [all theorems](index.md).\n"
    )
    return "\n".join((head, *map(_section, members(name))))


def _section(theorem: Theorem) -> str:
    given = "" if theorem.proved_in_kernel else _given(theorem)
    facts = [
        f"- Source: {escaped(str(theorem.source))}.",
        f"- Expected verdict: **{theorem.expected}**{given} ({MEANINGS[theorem.expected]}).",
        f"- Checked as: {_RELATIONS[theorem.relation]}, by {_applied(theorem)}.",
        *_in_kernel(theorem.kernel, false=theorem.expected is Verdict.REFUTED),
        *_derivation(theorem),
        *_boxes(theorem),
        *([f"- Needs {theorem.needs}."] if theorem.needs else []),
        *([f"- Note: {escaped(theorem.note)}"] if theorem.note else []),
        "- False neighbours, each refuted at a kept instance:",
        *(line for neighbour in theorem.false_neighbours for line in _neighbour(neighbour)),
    ]
    lines = "\n".join(facts)
    return f"## {theorem.name}\n\n{escaped(theorem.title)}.\n\n$$\n{theorem.statement}\n$$\n\n{lines}\n"


def _given(theorem: Theorem) -> str:
    """What the derivation rests on, each with its verdict and a link to its place."""
    links = (
        f"[{name}]({file_name(name.partition('.')[0])}#{name.lower().replace('.', '')})"
        f" ({THEOREMS[name].expected})"
        for name in theorem.given
    )
    return f", given {', '.join(links)}" if theorem.given else ""


def in_kernel() -> str:
    """What the kernel proves: the entries by verdict, the false neighbours, and the definitions in use."""
    named = [theorem for theorem in THEOREMS.values() if theorem.kernel is not None]
    refuted = [theorem for theorem in named if theorem.expected is Verdict.REFUTED]
    whole = [theorem for theorem in named if theorem.proved_in_kernel]
    beside = [t for t in THEOREMS.values() if any(false.kernel for false in t.false_neighbours)]
    rows = {
        "the whole statement": whole,
        "a part of it": [theorem for theorem in named if theorem not in (*whole, *refuted)],
        "that it is false": refuted,
        "that a neighbour is false": beside,
    }
    table = [f"| {words} | {len(found)} | {', '.join(map(_link, found))} |" for words, found in rows.items()]
    introduced = "As they stand in the files; `sum ys f` adds up f over the outcomes ys."
    return "\n".join(
        (
            *("| the kernel proves | entries | which |", "| --- | --- | --- |", *table, ""),
            *("## Definitions", "", introduced, "", "```coq", *definition_texts(), "```"),
        )
    )


def _link(theorem: Theorem) -> str:
    place = f"{file_name(theorem.family)}#{theorem.name.lower().replace('.', '')}"
    return f"[{escaped(theorem.name)}](theorems/{place})"


def _in_kernel(kernel: Kernel | None, *, false: bool, indent: str = "") -> list[str]:
    """The theorem of the kernel as it is written there, and what of the statement it is."""
    if kernel is None:
        return []
    found = statement(kernel.theorem)
    of = f"part of it, {escaped(kernel.part)}" if kernel.part else "for every number of outcomes"
    of = "that it is false" if false else of
    place = f"`{found.name}` in `dph_theory/kernel/{found.file}`"
    lines = [
        f"{indent}- In the kernel, {of}: {place} ([its definitions](../what-is-proved.md#definitions)).",
        "",
    ]
    return [*lines, *(f"{indent}        {line}" for line in found.text.splitlines()), ""]


def _neighbour(false: FalseNeighbour) -> list[str]:
    return [f"    - {escaped(false.name)}", *_in_kernel(false.kernel, false=True, indent="        ")]


def _derivation(theorem: Theorem) -> list[str]:
    """The sentences of the derivation and the claims between them, as they stand in the entry."""
    if theorem.derivation is None:
        return []
    lines = [f"    {number}. {_step(step)}" for number, step in enumerate(theorem.derivation(), 1)]
    given = _given(theorem) if theorem.proved_in_kernel else ""
    return [f"- Derivation{given} (claims are decided by machine, false ones must be refused):", *lines]


def _step(step: Claim | str) -> str:
    if isinstance(step, str):
        return escaped(step)
    relation = f"{step.sign[:-1] or '='} {step.equals}" if step.sign != "=0" else f"= {step.equals}"
    kind = "*False:*" if isinstance(step, FalseStep) else "*Claim:*"
    return f"{kind} {escaped(step.text)}: `{step.expression} {relation}`"


def _boxes(theorem: Theorem) -> list[str]:
    """The boxes on which the statement is decided as a whole, each with how it is reduced to its scalars."""
    lines = [f"    - {escaped(f'{reduction}: {reduction.text}')}" for reduction in theorem.reductions]
    return ["- Decided on all of these boxes:", *lines] if lines else []


def _applied(theorem: Theorem) -> str:
    return "; ".join(_CHECKS[check] for check in CHECKS if applies(check, theorem))


def _tally(theorems: Sequence[Theorem]) -> str:
    counts = Counter(theorem.expected for theorem in theorems)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
