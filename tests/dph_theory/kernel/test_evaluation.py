import math

import pytest
from flint import arb

from dph_theory.kernel import files
from dph_theory.kernel.evaluation import Atom, Evaluator, UndecidedError
from dph_theory.kernel.grammar import definition, term

KERNEL = Evaluator(files.definitions())
LAW = {"ys": [0, 1, 2], "q": lambda y: arb([0.5, 0.5, 0][y]), "p": lambda y: arb([0.25, 0.25, 0.5][y])}


def value(text, **env):
    return float(KERNEL.value(term(text), env))


def test_sums_and_divergences_are_those_of_the_definitions():
    assert value("kl ys q p", **LAW) == pytest.approx(math.log(2))
    assert value("tv ys q p", **LAW) == 0.5
    assert KERNEL.true(term("law ys q"), LAW)
    assert KERNEL.true(term("covers ys p q"), LAW)
    assert not KERNEL.true(term("covers ys q p"), LAW)
    assert not KERNEL.true(term("positive ys q"), LAW)


def test_lists_and_truth_values_are_compared():
    assert KERNEL.true(term("ys <> [] /\\ true <> false /\\ ys = ys"), LAW)
    assert not KERNEL.true(term("ys = []"), LAW)


def test_coqs_functions_have_coqs_values_where_there_are_none():
    assert value("ln 0") == value("ln (- 2)") == value("/ 0") == 0
    assert value("Binomial.C 2%nat 3%nat") == pytest.approx(1 / 3)  # 2!/(3! 0!)
    assert KERNEL.value(term("n - 3"), {"n": 2}) == 0


def test_derivatives_are_taken():
    assert value("Derive (fun t => exp (2 * t) + ln t) 1") == pytest.approx(2 * math.exp(2) + 1)
    assert KERNEL.true(term("is_derive (fun t => t ^ 3) 2 12"), {})
    assert not KERNEL.true(term("is_derive (fun t => t ^ 3) 2 11"), {})


def test_a_fixpoint_is_followed():
    own = Evaluator(
        {"total": definition("(xs : list R) : R := match xs with [] => 0 | x :: r => x + total r end")}
    )
    assert float(own.value(term("total [1; 2; 3]"), {})) == 6


def test_what_speaks_of_all_reals_is_not_decided():
    for text in ("forall x, 0 < x -> ln x <= x - 1", "curved f g h", "unknown = 1"):
        with pytest.raises(UndecidedError):
            KERNEL.true(term(text), {"f": None, "g": None, "h": None})


@pytest.mark.parametrize(
    ("sign", "true"), [("=", False), ("<>", True), ("<", True), ("<=", True), (">", False)]
)
def test_a_relation_is_true_or_not(sign, true):
    assert Atom(arb(1), sign, arb(2)).true is true
