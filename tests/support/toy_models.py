"""Hypothesis strategies for small automata and bigram models."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from hypothesis import strategies as st

from toy_lm import MarkovLM, ValidityAutomaton

seeds = st.integers(0, 2**32 - 1)


@contextmanager
def building() -> Iterator[None]:
    """Keeps `random` as it was: the checks of annotations draw from it, which strategies may not."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


@st.composite
def automata(draw: st.DrawFn, symbols: int = 2, most_states: int = 4) -> ValidityAutomaton:
    """A random complete automaton."""
    states = draw(st.integers(1, most_states))
    rng = np.random.default_rng(draw(seeds))
    letters = tuple("abc"[:symbols])
    table = rng.integers(0, states, (states, symbols))
    with building():
        return ValidityAutomaton(table, int(rng.integers(states)), rng.random(states) < 0.5, letters)


@st.composite
def bigrams(draw: st.DrawFn, symbols: int = 2) -> MarkovLM:
    """A random bigram model; some probabilities may vanish."""
    rng, sparse = np.random.default_rng(draw(seeds)), draw(st.booleans())

    def rows(*shape: int) -> np.ndarray:
        table = rng.dirichlet(np.full(symbols, 0.7), size=shape)
        if sparse:
            gone = rng.random(table.shape) < 0.3
            gone[gone.all(axis=-1)] = False
            table = np.where(gone, 0.0, table)
        return table / table.sum(axis=-1, keepdims=True)

    with building():
        return MarkovLM(rows(1)[0], rows(symbols))
