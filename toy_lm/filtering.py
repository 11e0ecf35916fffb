"""Distance from the locally filtered to the filtered model: brackets, JSON-like texts, arithmetic."""

from collections.abc import Mapping

import numpy as np

import toy_lm  # Loaded on demand: the lengths need no engine.

from .grid import Row

GRAMMARS = ("brackets", "json", "arithmetic")
LENGTHS: Mapping[str, int] = {"brackets": 32, "json": 24, "arithmetic": 24}
MEASURES = ("filtering", "local", "local_to_filtered", "filtered_to_local")


def grammar(name: str) -> "toy_lm.ValidityAutomaton":
    """Automaton of a grammar of `GRAMMARS`; texts shorter than the word are padded with $."""
    if name == "brackets":
        return toy_lm.balanced("()", "(", ")", depth=8)
    if name == "json":
        text, number = '"(a|b)*"', "(0|1)+"
        scalar = f"({text}|{number})"
        pair = f"{text}:{scalar}"
        lists = rf"\[({scalar}(,{scalar})*)?\]"
        objects = rf"\{{({pair}(,{pair})*)?\}}"
        return toy_lm.from_regex(rf"({scalar}|{lists}|{objects})\$*", '{}[],:"ab01$')
    letters = "01+*()$"
    factor = r"\(*(0|1)+\)*"
    chain = toy_lm.from_regex(rf"{factor}((\+|\*){factor})*\$*", letters)
    return chain & toy_lm.balanced(letters, "(", ")", depth=4)


def distances(name: str, length: int | None = None, *, bases: int = 5, seed: int = 0) -> Row:
    """Distances of one grammar in nats, exact per base; means over random Markov bases a of order one.

    filtering: -log A1 = KL(p_*||a), the minimal cost of filtering; local: KL(loc||a), which is larger by
    local_to_filtered: KL(loc||p_*); filtered_to_local: KL(p_*||loc). loc is the locally filtered model.
    """
    automaton = grammar(name)
    length = LENGTHS[name] if length is None else length
    rows = []
    for index in range(bases):
        base = toy_lm.MarkovLM.random(automaton.symbols, seed=np.random.default_rng((seed, index)))
        local = toy_lm.locally_filtered(base, automaton, length)
        filtered = toy_lm.filtered_lm(base, automaton, length)
        plain = toy_lm.base_distribution(base, automaton, length)
        pairs = ((filtered, plain), (local, plain), (local, filtered), (filtered, local))
        rows.append([toy_lm.token_distribution_kl(one, other) for one, other in pairs])
    means = (float(mean) for mean in np.mean(rows, axis=0))
    row = {"grammar": name, "length": length, "states": automaton.states, "bases": bases}
    return row | dict(zip(MEASURES, means, strict=True))
