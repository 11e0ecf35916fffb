import re

import pytest

from dph_theory.theorems import THEOREMS
from dph_theory.verification import pages
from dph_theory.verification.statement import Verdict


def test_every_theorem_is_on_exactly_one_page():
    names = [name for text in pages.pages().values() for name in re.findall(r"^## (\w+\.\w+)$", text, re.M)]
    assert sorted(names) == sorted(THEOREMS)
    assert all(subject.title for subject in pages.SUBJECTS.values())


@pytest.mark.parametrize("name", pages.SUBJECTS)
def test_a_page_says_all_that_the_registry_says(name):
    text = pages.subject_page(name)
    for theorem in pages.members(name):
        section = text.split(f"## {theorem.name}\n")[1].split("\n## ")[0]
        assert f"$$\n{theorem.statement}\n$$" in section
        assert f"**{theorem.expected}**" in section
        assert pages.escaped(str(theorem.source)) in section
        assert pages.escaped(theorem.note) in section
        assert section.count("\n    - ") == len(theorem.false_neighbours)
        assert all(f"`{name}` in `dph_theory/coq/" in section for name in theorem.coq.split())
        assert ("In Coq" in section) is bool(theorem.coq)
        # Of a claim that is false in general only its counterexample is proved.
        at_one = "In Coq, that it fails at its counterexample: " in section
        assert at_one is (theorem.expected is Verdict.REFUTED and bool(theorem.coq))
