import pytest

from dph_theory.kernel.grammar import GrammarError, definition, term, without_comments


def test_operators_bind_as_in_coq():
    assert term("a + b * c ^ 2") == term("a + (b * (c ^ 2))")
    assert term("a - b - c") == term("(a - b) - c")
    assert term("- a / b") == term("(- a) / b")
    assert term("f x + g y z") == term("(f x) + ((g y) z)")
    assert term("A -> B -> C") == term("A -> (B -> C)")
    assert term("a = b /\\ c < d -> e <= f") == term("((a = b) /\\ (c < d)) -> (e <= f)")
    assert term("A <-> forall y, In y ys -> P y") == term("A <-> (forall y, (In y ys) -> (P y))")
    assert term("0 <= t <= 1") == term("(0 <= t) /\\ (t <= 1)")
    assert term("fun y => y + 1") == ("fun", ("y",), term("y + 1"))


def test_types_are_read_past():
    assert term("forall (ys : list Y) (f : R -> R) x, P") == term("forall ys f x, P")
    assert term("fun z : R => z") == term("fun z => z")


def test_numbers_are_real_unless_they_are_marked():
    assert term("1") == ("number", 1.0)
    assert type(term("1%nat")[1]) is int


def test_definitions_give_their_arguments_and_their_body():
    assert definition("{Y : Type} (ys : list Y) (q : Y -> R) : R := sum ys q") == (
        ("ys", "q"),
        term("sum ys q"),
    )
    assert definition(": list bool := [true; false]") == ((), term("[true; false]"))


def test_comments_are_left_out():
    assert without_comments("a (* b (* c *) d *) e") == "a  e"


@pytest.mark.parametrize("text", ["a +", "(a", "a # b", "a b)", "match x with | y = z end"])
def test_what_is_not_read_is_an_error(text):
    with pytest.raises(GrammarError):
        term(text)
