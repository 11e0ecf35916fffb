"""Small exact language models: Markov policies, validity automata, and what rewards make of them.

By dynamic programming over (automaton state, context), never by enumeration. Lengths are in symbols, logs are
natural, leading axes are batches. Names are loaded at their first use, so that what needs no torch waits for
none.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine.automaton import ValidityAutomaton as ValidityAutomaton
    from .engine.builders import balanced as balanced
    from .engine.builders import counting as counting
    from .engine.builders import from_predicate as from_predicate
    from .engine.builders import from_regex as from_regex
    from .engine.enumeration import Enumerated as Enumerated
    from .engine.exact import alpha_divergence as alpha_divergence
    from .engine.exact import chi_squared as chi_squared
    from .engine.exact import cross_entropy as cross_entropy
    from .engine.exact import effective_number as effective_number
    from .engine.exact import entropy as entropy
    from .engine.exact import excess_kl as excess_kl
    from .engine.exact import kl as kl
    from .engine.exact import log_moment as log_moment
    from .engine.exact import log_validity as log_validity
    from .engine.exact import validity as validity
    from .engine.markov import MarkovLM as MarkovLM
    from .engine.product import ProductLM as ProductLM
    from .engine.product import filtered_lm as filtered_lm
    from .engine.product import tilted_lm as tilted_lm
    from .engine.projection import expected_counts as expected_counts
    from .engine.projection import m_projection as m_projection
    from .engine.reach import coverage as coverage
    from .engine.reports import ExactReport as ExactReport
    from .engine.reports import report as report
    from .engine.search import distinct_valid as distinct_valid
    from .engine.search import most_probable as most_probable
    from .engine.search import top_valid as top_valid

_ROOMS = {
    "engine.automaton": "ValidityAutomaton",
    "engine.builders": "balanced counting from_predicate from_regex",
    "engine.enumeration": "Enumerated",
    "engine.exact": "alpha_divergence chi_squared cross_entropy effective_number entropy excess_kl kl "
    "log_moment log_validity validity",
    "engine.markov": "MarkovLM",
    "engine.product": "ProductLM filtered_lm tilted_lm",
    "engine.projection": "expected_counts m_projection",
    "engine.reach": "coverage",
    "engine.reports": "ExactReport report",
    "engine.search": "distinct_valid most_probable top_valid",
}
# A room must not have the name of something in it: once imported, it would stand in its place here.
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}
__all__ = tuple(_HOME)

if not TYPE_CHECKING:  # Type checkers know the names above, and that there are no others.

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
