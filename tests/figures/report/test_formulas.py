import pytest

from dph_theory.theorems import THEOREMS
from figures.report.formulas import formula


@pytest.mark.parametrize("name", THEOREMS)
def test_every_statement_has_its_mathml(name):
    tree = formula(THEOREMS[name].statement)
    assert tree.tag == "math"
    assert tree.get("display") == "block"


def test_upright_words_are_one_identifier():
    assert [mi.text for mi in formula(r"\mathrm{KL}(q\|a)").iter("mi")] == ["KL", "q", "a"]


def test_arg_min_takes_its_limits_as_one_operator():
    tree = formula(r"\arg\min_{q} f")
    limits = next(node for node in tree.iter() if node.tag.startswith(("msub", "munder")))
    assert "".join(limits[0].itertext()) == "argmin"


def test_a_command_without_mathml_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        formula(r"a \nonsense b")
