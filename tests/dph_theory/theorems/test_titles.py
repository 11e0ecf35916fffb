"""A title claims what is checked: in Coq where it is PROVED, by the relation of both sides where CHECKED."""

import re

import pytest

from dph_theory.coq.compilation import recorded
from dph_theory.theorems import THEOREMS
from dph_theory.verification.statement import Relation, Verdict

OF_A_LIMIT = re.compile(
    r"->|\\to\b|\\lim|\blim|\b(converge|diverge|tend|forget|vanish|win|stay|keep|retain)(s|es)?\b|\bends\b"
    r"|\b(is|are|has) lost\b|\b(is|one) left\b"
)
"""What says that something goes somewhere, or remains where it is, of a title or of LaTeX."""
LIMIT_IN_COQ = re.compile(r"\bis_lim|\bUn_cv\b|\bFlows\.\w*flow\b")
"""A limit, or the path of a flow, in what Coq prints."""
POSITIVE_IN_COQ = re.compile(r"(?:Laws\.positive \w+|Radius\.everywhere \w+ \w+) \(?(\w+)(?=.*->)")
STANDING = {"base", "ref", "r", "s"}
"""The base or reference, which the notation of every page has positive."""
PRINTED = re.compile(r"(\\pi\S*|[pq](_t)?|\\rho) > 0")


def proved(theorem):
    record = recorded()
    return "\n".join(record.theorems[full].readable for n in theorem.coq.split() for full in record.named(n))


def entries(verdict):
    chosen = [theorem for theorem in THEOREMS.values() if theorem.expected is verdict]
    return pytest.mark.parametrize("theorem", chosen, ids=lambda theorem: theorem.name)


@entries(Verdict.PROVED)
def test_a_proved_title_or_formula_that_speaks_of_a_limit_has_one_in_coq(theorem):
    words = OF_A_LIMIT.search(theorem.title) or OF_A_LIMIT.search(theorem.statement)
    assert not words or LIMIT_IN_COQ.search(proved(theorem)), words.group()


@entries(Verdict.CHECKED)
def test_a_checked_title_that_speaks_of_a_limit_is_checked_as_one(theorem):
    words = OF_A_LIMIT.search(theorem.title)
    assert not words or theorem.relation is Relation.TENDS, words.group()


@entries(Verdict.PROVED)
def test_what_coq_wants_positive_besides_the_base_is_printed(theorem):
    variables = {*POSITIVE_IN_COQ.findall(proved(theorem))} - STANDING
    assert not variables or PRINTED.search(theorem.statement), variables


@pytest.mark.parametrize(
    ("words", "speaks"),
    [
        ("Natural gradient converges to the filtered model", True),
        ("r beside s gains nowhere, and is lost", True),
        (r"1 - \mu \to 0", True),
        ("Where groups whose rewards agree are left out", False),
        (r"1 - 2\log 2", False),
    ],
)
def test_which_words_speak_of_a_limit(words, speaks):
    assert bool(OF_A_LIMIT.search(words)) is speaks
