import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, sampled

from dph_theory.counts.laws import laws
from dph_theory.counts.mixing import rate_grid
from dph_theory.counts.near import Near


@pytest.mark.parametrize("n", [5, 300])
def test_the_band_keeps_all_of_the_probability(n):
    rng, law = np.random.default_rng(0), laws(8)[0]
    rates, weights = rate_grid(n)
    after, more = law.rates(rates, 0.5), np.full(30, 4)
    before = base_rates(rng, 30)
    # Some prompts obey the law, others are lost.
    seen = np.where(np.arange(30) % 3 == 0, 0.0, law.rates(before, 0.5))
    pairs = sampled(rng, before, seen, n).pairs
    near = Near.of(pairs, rates, law.rates(rates, 0.6))

    def chance(n, c, at):
        return stats.binom.pmf(c[:, None], n[:, None], at)

    wanted = chance(pairs.base_n, pairs.base_c, rates) * chance(pairs.run_n, pairs.run_c, after)
    assert near.given(after) @ weights == pytest.approx(wanted @ weights, rel=1e-9)
    further = (wanted * chance(more, more // 2, after)) @ weights
    assert near.with_more(more, more // 2).given(after) @ weights == pytest.approx(further, rel=1e-9)
    assert len(near.rows) < 0.4 * wanted.size or n == 5
