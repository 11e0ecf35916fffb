"""What the exact engine refuses, and what it says then."""

import numpy as np
import pytest

from toy_lm import MarkovLM, ValidityAutomaton, balanced, counting, from_predicate, from_regex, pass_rate

DYCK = balanced("()", "(", ")", depth=4)
ABC = from_regex("a*b(a|c)*c", "abc")
TABLE, ACCEPT = np.array([[0, 1], [1, 0]]), np.array([True, False])
HALVES = [[0.5, 0.5], [0.5, 0.5]]
FITTING = MarkovLM.random(3, seed=0)


def model(initial, transition):
    return MarkovLM(np.array(initial, dtype=float), np.array(transition, dtype=float))


@pytest.mark.parametrize(("made", "message"), [
    (lambda: ValidityAutomaton(TABLE[:, :1], 0, ACCEPT, ("a", "b")), "transitions.shape"),
    (lambda: ValidityAutomaton(TABLE + 1, 0, ACCEPT, ("a", "b")), "transitions=2"),
    (lambda: ValidityAutomaton(TABLE.astype(float), 0, ACCEPT, ("a", "b")), "dtype"),
    (lambda: ValidityAutomaton(TABLE, 2, ACCEPT, ("a", "b")), "initial=2"),
    (lambda: ValidityAutomaton(TABLE, 0, ACCEPT, ("a", "bc")), "alphabet"),
    (lambda: DYCK & ValidityAutomaton(TABLE, 0, ACCEPT, ("a", "b")), "alphabet"),
    (lambda: DYCK.accepts(np.array([0, 2])), "words=2"), (lambda: DYCK.require_informative(-1), "length=-1"),
    (lambda: counting("()", "(").require_informative(7), r"length=7 .* accepts all"),
    (lambda: from_regex("(", "ab"), r"pattern='\('"), (lambda: from_regex("x*", "ab"), "pattern='x\\*'"),
    (lambda: from_regex("a", "aa"), "alphabet"), (lambda: counting("ab", "c"), "symbol='c'"),
    (lambda: counting("ab", "a", at_least=-1), "at_least=-1"),
    (lambda: counting("ab", "a", at_least=3, at_most=2), "at_most=2"),
    (lambda: balanced("ab", "a", "a", depth=1), "closing='a'"),
    (lambda: balanced("ab", "a", "x", depth=1), "closing='x'"),
    (lambda: balanced("ab", "a", "b", depth=0), "depth=0"),
    (lambda: from_predicate(bool, "ab", 30), r"length=30 .* at most 1048576, but these are 1073741824"),
    (lambda: model([0.5, 0.5], [[0.5, 0.5]]), r"transition.shape=\(1, 2\)"),
    (lambda: model([[0.5, 0.5]], HALVES), "transition.shape"), (lambda: model([0.5, 0.6], HALVES), "initial"),
    (lambda: model([0.5, 0.5], [[0.5, 0.6], [0.5, 0.5]]), "transition"),
    (lambda: MarkovLM.random(0, seed=0), "vocabulary=0"),
    (lambda: pass_rate(MarkovLM.random(4, seed=0), ABC, 4), r"model.vocabulary=4 .* automaton's 3"),
    (lambda: pass_rate(FITTING, ABC, 0), "length=0"),
    (lambda: DYCK.require_informative(7), r"length=7 .* accepts none"),
])  # fmt: skip
def test_what_does_not_fit_is_named(made, message):
    with pytest.raises(ValueError, match=message):
        made()
