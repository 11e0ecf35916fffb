import itertools

import numpy as np
import pytest

from dph_theory.laws import law_divergence, law_validity
from dph_theory.laws import locally_filtered as tree_filtered
from dph_theory.laws import token_law as tree_law
from toy_lm import MarkovLM, filtered_lm, from_regex, kl
from toy_lm.engine.token_laws import base_law, filtered_law, locally_filtered, token_law_kl, token_reverse

LENGTH = 4
AUTOMATON = from_regex("a*b(a|c)*c", "abc")


def trees(base):
    """The Markov base and the verifier as tables on a prefix tree."""
    V, tables = base.vocabulary, []
    for t in range(LENGTH):
        rows = base.log_step(t).exp().numpy()
        table = np.empty((V,) * (t + 1))
        for prefix in itertools.product(range(V), repeat=t):
            context = 0
            for symbol in prefix[-base.order :]:
                context = context * V + symbol
            table[prefix] = rows[context]
        tables.append(table)
    words = np.array(list(itertools.product(range(V), repeat=LENGTH)))
    return tables, AUTOMATON.accepts(words).reshape((V,) * LENGTH)


@pytest.mark.parametrize("order", [1, 2])
def test_the_chains_are_the_laws_of_the_tree(order):
    base = MarkovLM.random(3, order, seed=order)
    tables, valid = trees(base)
    plain = base_law(base, AUTOMATON, LENGTH)
    for law, tree in (
        (token_reverse(base, AUTOMATON, LENGTH, 0.3), tree_law(tables, valid, 0.3)),
        (locally_filtered(base, AUTOMATON, LENGTH), tree_filtered(tables, valid)),
    ):
        assert token_law_kl(law, plain) == pytest.approx(law_divergence(tree, tables), rel=1e-12)
        assert law.validity() == pytest.approx(law_validity(tree, valid), rel=1e-12)


def test_the_filtered_law_is_the_engines():
    base = MarkovLM.random(3, seed=5)
    law, plain = filtered_law(base, AUTOMATON, LENGTH), base_law(base, AUTOMATON, LENGTH)
    engines = filtered_lm(base, AUTOMATON, LENGTH)
    assert token_law_kl(law, plain) == pytest.approx(kl(engines, base), rel=1e-12)
    assert token_law_kl(law, plain) == pytest.approx(-float(engines.log_mass), rel=1e-12)
    # Pythagoras (theory A7) for the locally filtered model, which is valid throughout.
    local = locally_filtered(base, AUTOMATON, LENGTH)
    more = token_law_kl(local, plain) - token_law_kl(law, plain)
    assert token_law_kl(local, law) == pytest.approx(more, rel=1e-10)
    assert token_law_kl(plain, law) == np.inf


def test_long_words_over_many_symbols():
    letters = "".join(map(chr, range(97, 129)))
    automaton = from_regex("(a|b|c)*(d|e).*", letters)
    base = MarkovLM.random(32, seed=1)
    local, filtered = (law(base, automaton, 512) for law in (locally_filtered, filtered_law))
    assert local.validity() == pytest.approx(1, abs=1e-10)
    assert 0 <= token_law_kl(local, filtered) < 512 * np.log(32)
    near = token_reverse(base, automaton, 512, 0.01)
    # The other way round it is inf: at every beta the law keeps some mass on dead ends.
    assert token_law_kl(local, near) == pytest.approx(0, abs=1e-10)


def test_bad_input_is_named():
    base = MarkovLM.random(4, seed=0)
    with pytest.raises(ValueError, match=r"base.vocabulary=4 is not allowed: the automaton's 3"):
        locally_filtered(base, AUTOMATON, LENGTH)
    fitting = MarkovLM.random(3, seed=0)
    with pytest.raises(ValueError, match="beta"):
        token_reverse(fitting, AUTOMATON, LENGTH, 0.0)
    with pytest.raises(ValueError, match="the same automaton"):
        token_law_kl(base_law(fitting, AUTOMATON, 3), base_law(fitting, AUTOMATON, LENGTH))
