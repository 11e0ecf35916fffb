"""The registry as Markdown: a page a subject, and the index of them all."""

from collections import Counter
from collections.abc import Iterable
from textwrap import indent

from ..coq.compilation import recorded
from ..references import REFERENCES
from ..support.table import escaped
from ..theorems import SUBJECTS, THEOREMS
from .statement import Relation, Theorem, Verdict

MEANINGS = {
    Verdict.PROVED: "a theorem in Coq for every number of outcomes, used at an example "
    "whose numbers are those of both sides; `make prove` compiles the proofs",
    Verdict.CHECKED: "two independent computations agree on random test cases, on those of an optimiser "
    "that looks for a violation",
    Verdict.REFUTED: "false: a counterexample is stored with it",
}
"""The check that each status stands for."""
_RELATIONS = {
    Relation.EQUAL: "both sides are equal",
    Relation.AT_MOST: "the left side is at most the other",
    Relation.TENDS: "the left side tends to the other",
}
_AGAIN = "This page is made from the registry."


def members(subject: str) -> list[Theorem]:
    """The theorems of a subject, in the registry's order."""
    return [theorem for theorem in THEOREMS.values() if theorem.subject == subject]


def pages() -> dict[str, str]:
    """Markdown of every theorem page by file name: the index, and one page per subject."""
    return {"index.md": index()} | {f"{name}.md": subject_page(name) for name in SUBJECTS}


def index() -> str:
    """Markdown of the page that lists subjects, expected statuses and papers."""
    neighbours = sum(len(theorem.false_neighbours) for theorem in THEOREMS.values())
    rows = [
        f"| [{name}]({name}.md) | {escaped(subject.title)} | {_tally(members(name))} |"
        for name, subject in SUBJECTS.items()
    ]
    papers = [
        f"- `{key}`: {escaped(f'{paper.authors}, {paper.title}, {paper.where}')}."
        for key, paper in REFERENCES.items()
    ]
    return "\n".join(
        (
            "# The theorems\n",
            f"{len(THEOREMS)} statements on {len(SUBJECTS)} subjects; expected: {_tally(THEOREMS.values())}. "
            f"{neighbours} false variants, next to a theorem and false, must fail at the "
            f"test cases stored with them. `dph verify` checks all. {_AGAIN}\n",
            "Notation: a finite outcome space; base or reference policy a = pi\\_ref > 0; verifier v with "
            "values 0 and 1; Y1 the outcomes it accepts, A1 = a(Y1), A0 = 1 - A1; p\\_\\* is a given Y1, "
            "p\\_0 is a given the rest; p\\_beta is proportional to a e^(v/beta); u = pi/pi\\_ref; kl is the "
            "Bernoulli KL; TV is half the L1 distance; logs are natural; D\\_f(pi \\|\\| ref) = "
            "E\\_ref[f(u)], policy first.\n",
            "| subject | about | expected |",
            "| --- | --- | --- |",
            *rows,
            "\n## Papers\n",
            *papers,
            "\n## Definitions in Coq\n",
            "As Coq prints those that the theorems reach, `File.name`; `Laws.sum ys f` adds up f over the "
            "outcomes ys. In `dph_theory/coq/record.json` theorems and definitions stand in closed form, "
            "without notations and with every argument.\n",
            *("```coq", *_definitions(), "```"),
            "",
        )
    )


def subject_page(name: str) -> str:
    """Markdown of a subject's page: each theorem's statement, source, status, checks, false variants."""
    head = (
        f"# {SUBJECTS[name].title}\n\n"
        f"`dph verify {name}` checks what stands here. {_AGAIN} Notation: [all theorems](index.md).\n"
    )
    return "\n".join((head, *map(_section, members(name))))


def _section(theorem: Theorem) -> str:
    facts = [
        f"- Source: {escaped(str(theorem.source))} ({theorem.origin}).",
        f"- Expected status: **{theorem.expected}** ({MEANINGS[theorem.expected]}).",
        f"- Checked as: {_RELATIONS[theorem.relation]}, {_checked(theorem)}.",
        *_in_kernel(theorem),
        *([f"- Note: {escaped(theorem.note)}"] if theorem.note else []),
        "- False variants, each refuted at a stored test case:",
        *(f"    - {escaped(false.name)}" for false in theorem.false_neighbours),
    ]
    lines = "\n".join(facts)
    return f"## {theorem.name}\n\n{escaped(theorem.title)}.\n\n$$\n{theorem.statement}\n$$\n\n{lines}\n"


def _checked(theorem: Theorem) -> str:
    """Words on the number of stored test cases of a theorem; for a refuted claim, its counterexample."""
    count = f"{len(theorem.examples)} example{'' if len(theorem.examples) == 1 else 's'} kept"
    return f"{'at its counterexample, ' if theorem.false else ''}{count}"


def papers() -> str:
    """Markdown tables of each paper's claims: section, claim, entry, status, figure."""
    parts = [
        "Sections such as Theorem 3.1d or Eq. 8 are taken from two independent public summaries of each "
        "paper, not from the papers. The order a to d of the parts of Theorem 3.1, and that Eq. 10 is the "
        "decomposition of log p\\_beta, are our reading of them: the abstract confirms the claims, not the "
        "numbers. Every name in the tables selects entries: `dph verify Dymetman`, "
        '`dph verify 2605.02375`, `dph verify "Theorem 3.1"` (its parts a to d are the limits pointwise, in '
        "total variation, in forward and in reverse KL), `dph verify Li`, `dph verify 2509.07430`, "
        '`dph verify "Theorem 1"`.\n'
    ]
    for key, paper in REFERENCES.items():
        claims = [theorem for theorem in THEOREMS.values() if theorem.source.key == key]
        if key == "ours" or not claims:
            continue
        about = escaped(f"{paper.authors}, {paper.title}, {paper.where}")
        parts += [f"## {key}\n", f"{about}. `dph verify --paper {key}`:\n"]
        parts += [
            "| section | claim | dph verify | status | dph figures |",
            "| --- | --- | --- | --- | --- |",
        ]
        for claim in claims:
            figure = f"`{claim.source.figure}`" if claim.source.figure else "-"
            cells = (
                escaped(claim.source.place),
                escaped(claim.title),
                f"`{claim.name}`",
                claim.expected,
                figure,
            )
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


def in_kernel() -> str:
    """Markdown table of the entries that Coq proves, and the axioms below its examples."""
    named = [theorem for theorem in THEOREMS.values() if theorem.coq]
    refuted = [f"`{theorem.name}`" for theorem in named if theorem.false]
    rows = {
        "the whole statement": str([theorem.expected for theorem in named].count(Verdict.PROVED)),
        "a part of it": str([theorem.expected for theorem in named].count(Verdict.CHECKED)),
        "that it is false": f"{len(refuted)}: {', '.join(refuted)}",
    }
    table = ["| Coq proves | entries |", "| --- | --- |"]
    table += [f"| {words} | {number} |" for words, number in rows.items()]
    modules = Counter(axiom.split(".")[-2] for axiom in recorded().computing)
    computing = ", ".join(f"{number} of `{name}`" for name, number in modules.items()) or "nothing"
    rest = "Besides the classical reals, `Print Assumptions` shows below examples and counterexamples axioms"
    return "\n".join((*table, "", f"{rest} of {computing}."))


def _in_kernel(theorem: Theorem) -> list[str]:
    """Markdown lines with a theorem as Coq prints it, and which part of the statement it proves."""
    extent = f"part of it, {escaped(theorem.part)}" if theorem.part else "for every number of outcomes"
    extent = "that it fails at its counterexample" if theorem.false else extent
    lines = []
    for full in (full for name in theorem.coq.split() for full in recorded().named(name)):
        _, file, name = full.split(".")
        place = f"`{name}` in `dph_theory/coq/{file}.v`"
        lines += [f"- In Coq, {extent}: {place} ([definitions](index.md#definitions-in-coq)).", ""]
        lines += [indent(recorded().theorems[full].readable, " " * 8), ""]
    return lines


def _definitions() -> list[str]:
    return [
        f"{name.removeprefix('Kernel.')} =\n{indent(printed.readable, '  ')}"
        for name, printed in recorded().definitions.items()
    ]


def _tally(theorems: Iterable[Theorem]) -> str:
    counts = Counter(theorem.expected for theorem in theorems)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
