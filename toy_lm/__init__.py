"""Small exact language models: Markov policies, validity automata, and what rewards make of them.

By dynamic programming over (automaton state, context), never by enumeration. Lengths are in symbols, logs are
natural, leading axes are batches.
"""

from .automaton import ValidityAutomaton as ValidityAutomaton
from .builders import balanced as balanced
from .builders import counting as counting
from .builders import from_predicate as from_predicate
from .builders import from_regex as from_regex
from .coverage import coverage as coverage
from .enumeration import Enumerated as Enumerated
from .exact import alpha_divergence as alpha_divergence
from .exact import chi_squared as chi_squared
from .exact import cross_entropy as cross_entropy
from .exact import effective_number as effective_number
from .exact import entropy as entropy
from .exact import excess_kl as excess_kl
from .exact import kl as kl
from .exact import log_moment as log_moment
from .exact import log_validity as log_validity
from .exact import validity as validity
from .markov import MarkovLM as MarkovLM
from .product import ProductLM as ProductLM
from .product import filtered_lm as filtered_lm
from .product import tilted_lm as tilted_lm
from .projection import expected_counts as expected_counts
from .projection import m_projection as m_projection
from .report import ExactReport as ExactReport
from .report import report as report
from .search import distinct_valid as distinct_valid
from .search import most_probable as most_probable
from .search import top_valid as top_valid
