import numpy as np

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _tokens, b05
from dph_theory.tokens import independent_divergences, summed_divergences


def test_independent_tokens_have_a_smaller_sequence_divergence():
    given = as_floats(_tokens.INDEPENDENT_PAIR.parts)
    sequence = independent_divergences(_tokens.JS_AND_ALPHAS, **given)
    tokens = summed_divergences(_tokens.JS_AND_ALPHAS, **given)
    assert (sequence < tokens).all()
    np.testing.assert_allclose(tokens - sequence, b05.deficits(**given), rtol=1e-12)
