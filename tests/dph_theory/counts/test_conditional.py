import numpy as np
import pytest
from scipy import stats

from dph_theory.counts import Pairs
from dph_theory.counts.conditional import margins_of


def test_chances_are_fishers_noncentral_hypergeometric():
    pairs = Pairs.of([9, 9, 5], [4, 3, 5], [6, 6, 4], [1, 2, 4])
    found = list(margins_of(pairs))
    # Two prompts share a margin.
    assert sorted(len(members) for _, members in found) == [1, 2]
    for margin, members in found:
        i = members[0]
        total = pairs.base_c[i] + pairs.run_c[i]
        law = stats.nchypergeom_fisher(pairs.base_n[i] + pairs.run_n[i], total, pairs.run_n[i], np.exp(0.7))
        assert margin.chances(np.array([0.7]))[0] == pytest.approx(law.pmf(margin.support))
