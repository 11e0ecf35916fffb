import numpy as np
import pytest

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import b05_deficit
from dph_theory.theorems.b05_chain import of_sequences, of_tokens, sequences
from dph_theory.theorems.b05_js_exceeds import BRANCH_AT_FIRST
from dph_theory.theorems.b05_js_falls_short import BRANCH_AT_SECOND

FIRST, SECOND = as_floats(BRANCH_AT_FIRST), as_floats(BRANCH_AT_SECOND)


def test_jensen_shannon_token_sum_errs_in_both_directions():
    sequence, tokens = of_sequences(JENSEN_SHANNON), of_tokens(JENSEN_SHANNON)
    assert sequence(**FIRST).item() == pytest.approx(0.882438927756, abs=5e-13)
    assert tokens(**FIRST).item() == pytest.approx(0.809741255771, abs=5e-13)
    assert sequence(**SECOND).item() == pytest.approx(0.882438927756, abs=5e-13)
    assert tokens(**SECOND).item() == pytest.approx(1.398643987240, abs=5e-13)


def test_alpha_token_sum_errs_in_both_directions():
    half = alpha_divergence(0.5)
    # 4 (1 - sum sqrt(pi ref)): a token has sum .6 where the laws differ and 1 where they agree.
    for pair, tokens in ((FIRST, 1.6 + 0.1 * 1.6), (SECOND, 1.6 + 0.9 * 1.6)):
        assert of_sequences(half)(**pair).item() == pytest.approx(4 * (1 - 0.3 * 0.6 - 0.3), rel=1e-13)
        assert of_tokens(half)(**pair).item() == pytest.approx(tokens, rel=1e-13)


@pytest.mark.parametrize("pair", [FIRST, SECOND])
def test_forward_kl_is_exact_per_token(pair):
    tokens = of_tokens(FORWARD_KL)(**pair)
    assert tokens == pytest.approx(of_sequences(FORWARD_KL)(**pair), rel=1e-14)
    weight = 0.1 if pair is FIRST else 0.9
    assert tokens.item() == pytest.approx(0.8 * np.log(9) * (1 + weight), rel=1e-13)


def test_sequences_are_a_law():
    law = sequences(FIRST["pi_first"], FIRST["pi_second"])
    assert law[0] == pytest.approx([0.81, 0.09, 0.05, 0.05], rel=1e-14)


def test_independent_tokens_have_a_smaller_sequence_divergence():
    given = as_floats(b05_deficit.EXAMPLE)
    sequence = b05_deficit.of_sequences(b05_deficit.BOTH)(**given)
    tokens = b05_deficit.of_tokens(b05_deficit.BOTH)(**given)
    assert (sequence < tokens).all()
    np.testing.assert_allclose(tokens - sequence, b05_deficit.deficits(**given), rtol=1e-12)
