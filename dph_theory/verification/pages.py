"""The registry as Markdown: a page a family of theorems, and the index of them all."""

from collections import Counter
from collections.abc import Sequence

from ..references import REFERENCES
from ..statement.theorem import Relation, Theorem, Verdict
from ..support.markdown import escaped
from ..theorems import THEOREMS
from .checks import CHECKS, applies

FAMILIES = {
    "A1": "Degeneracy: a simplex of best policies",
    "A2": "The implicit bias of the plain policy gradient",
    "A3": "The natural gradient selects the filtered model",
    "A4": "KL control has one optimum, the tilted model",
    "A5": "Pass rate against beta",
    "A6": "The limit of small beta, in four modes",
    "A7": "The filtered model is the I-projection",
    "A8": "The validity-KL frontier and the excess KL",
    "A9": "Many prompts under one beta",
    "A10": "Misspecification: collapse in a restricted family",
    "A11": "The dynamics of GRPO with a fixed reference",
    "B1": "Generators of f-divergences",
    "B2": "A misprinted Jensen-Shannon generator",
    "B3": "The gauge decides what correct samples rehearse",
    "B4": "Generalised Pinsker inequalities",
    "B5": "Token sums against sequence divergences",
    "B6": "KL estimators and the gradients they give",
    "B7": "alpha-DPG",
    "B8": "Generator form against definition form",
    "B9": "Fair comparison: equal curvature",
    "C1": "TRPO's bound for the whole family, and its sharp form",
    "C2": "The stated improvement bound",
    "C3": "The anchor bound",
    "C4": "The rehearsal guarantee",
    "D1": "Pass@k",
    "D2": "Distinct valid outputs",
    "D3": "Pass@1 up, pass@k down",
    "E1": "The law of a penalty on the whole answer",
    "E2": "The law of a penalty on each token",
    "E3": "What each penalty selects as beta falls",
    "E4": "What a group-relative advantage maximises",
    "E5": "When the laws agree",
    "E6": "Selection takes time 1/beta",
    "E7": "The way back: on-policy penalties against rehearsal",
    "F1": "k2 in the loss against k1 in the reward",
    "F2": "GRPO's weight of a prompt",
    "F3": "The order of MaxRL",
    "F4": "Entropy under a reward",
    "F5": "Validity against entropy",
    "F6": "PKPO's weights",
    "F7": "Does reverse KL accelerate the decay?",
    "F8": "Ever fewer answers as beta decreases?",
    "L1": "Lemmas from textbooks that derivations lean on",
}
"""What the theorems A5.*, say, have in common, by the part of their names before the dot."""

_MEANING = {
    Verdict.PROVED: "symbolic steps, each decided by sympy, z3 or both, beside the searches below",
    Verdict.ENCLOSED: "ball arithmetic decides every instance of the boxes below",
    Verdict.CERTIFIED: "both sides agree, or are disjoint, in exact ball arithmetic at rational instances",
    Verdict.HOLDS: "random instances and an optimiser find no violation",
    Verdict.REFUTED: "the statement is false, and the checks must find a counterexample",
}
_CHECKS = {
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


def family(theorem: Theorem) -> str:
    """The family a theorem belongs to: A5 for A5.validity."""
    return theorem.name.partition(".")[0]


def members(name: str) -> list[Theorem]:
    """The theorems of a family, in the registry's order."""
    return [theorem for theorem in THEOREMS.values() if family(theorem) == name]


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
            f"{neighbours} false neighbours, statements next to a theorem that are false, must fall to the "
            f"same checks. `dph verify` runs them all. {_AGAIN}\n",
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
    facts = [
        f"- Source: {escaped(str(theorem.source))}.",
        f"- Expected verdict: **{theorem.expected}**{_given(theorem)} ({_MEANING[theorem.expected]}).",
        f"- Checked as: {_RELATIONS[theorem.relation]}, by {_applied(theorem)}.",
        *_boxes(theorem),
        *([f"- Needs {theorem.needs}."] if theorem.needs else []),
        *([f"- Note: {escaped(theorem.note)}"] if theorem.note else []),
        "- False neighbours, which the same checks must refute:",
        *(f"    - {escaped(neighbour.name)}" for neighbour in theorem.false_neighbours),
    ]
    lines = "\n".join(facts)
    return f"## {theorem.name}\n\n{escaped(theorem.title)}.\n\n$$\n{theorem.statement}\n$$\n\n{lines}\n"


def _given(theorem: Theorem) -> str:
    """What the proof leans on, each with a link to its place."""
    links = (
        f"[{name}]({file_name(name.partition('.')[0])}#{name.lower().replace('.', '')})"
        for name in theorem.given
    )
    return f", given {', '.join(links)}" if theorem.given else ""


def _boxes(theorem: Theorem) -> list[str]:
    """The boxes on which the statement is decided as a whole, each with how it is reduced to its scalars."""
    lines = [f"    - {escaped(f'{reduction}: {reduction.text}')}" for reduction in theorem.reductions]
    return ["- Decided on all of these boxes:", *lines] if lines else []


def _applied(theorem: Theorem) -> str:
    return "; ".join(_CHECKS[check] for check in CHECKS if applies(check, theorem))


def _tally(theorems: Sequence[Theorem]) -> str:
    counts = Counter(theorem.expected for theorem in theorems)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
