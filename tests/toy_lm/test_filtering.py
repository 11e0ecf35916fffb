import numpy as np
import pytest

from toy_lm.filtering import GRAMMARS, distances, grammar


@pytest.mark.parametrize("name", GRAMMARS)
def test_local_filtering_costs_more_than_filtering(name):
    found = distances(name, 12, bases=2)
    assert found["local"] == pytest.approx(found["filtering"] + found["local_to_filtered"], rel=1e-9)
    assert found["local_to_filtered"] > 0.01
    assert found["filtered_to_local"] > 0.01
    assert found == distances(name, 12, bases=2)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("brackets", ("(())", "()()"), ("())(",)),
        ("json", ('{"a":01}$$', '["",1]', "01$"), ('{"a"}', "[1,]", "$1")),
        ("arithmetic", ("(1+0)*1", "10$$"), ("(1", "1+", "()")),
    ],
)
def test_what_the_grammars_accept(name, good, bad):
    automaton = grammar(name)
    for words, accepted in ((good, True), (bad, False)):
        for text in words:
            word = np.array([automaton.alphabet.index(letter) for letter in text])
            assert bool(automaton.accepts(word)) is accepted, text
