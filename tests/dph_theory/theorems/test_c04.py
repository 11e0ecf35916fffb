import numpy as np
import pytest

from dph_theory.binary_reward import bernoulli_kl
from dph_theory.divergences import FORWARD_KL
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _tokens, c04_equality, c04_filtered, c04_inverted, c04_reference
from dph_theory.tokens import token_divergence

GIVEN = as_floats(_tokens.REWARDED_PAIR)
LAWS = {name: value for name, value in GIVEN.items() if name != "reward"}


def test_the_stated_guarantee():
    given = as_floats(c04_filtered.THEOREM.examples[0])
    guarantee = c04_filtered.guarantee(**given).item()
    assert guarantee == pytest.approx(0.546681036972, abs=5e-13)
    assert c04_filtered.pass_rate(given["pi"], given["valid"]).item() == pytest.approx(0.55, rel=1e-14)


def test_the_right_shape_attains_it():
    given = as_floats(c04_equality.THEOREM.examples[0])
    shaped, arbitrary = c04_equality.guarantee(**given)[0]
    assert shaped == pytest.approx(0.55, rel=1e-13)
    assert arbitrary == pytest.approx(0.546681036972, abs=5e-13)


def test_returns_and_divergences_of_two_tokens():
    # Sequences (.72, .08, .1, .1) against (.42, .18, .08, .32), rewards (1, .25, 0, .75).
    ref, pi = np.array([0.72, 0.08, 0.1, 0.1]), np.array([0.42, 0.18, 0.08, 0.32])
    kl = (ref * np.log(ref / pi)).sum()
    assert c04_reference.both_kls(**LAWS)[0] == pytest.approx([kl, kl], rel=1e-13)
    returns = bernoulli_kl(0.815, 0.705)
    assert c04_reference.kl_of_returns(**GIVEN).item() == pytest.approx(returns.item(), rel=1e-12)
    assert returns < kl


def test_the_inverted_guarantee_solves_the_bound():
    guarantee = c04_inverted.guarantee(**GIVEN).item()
    assert guarantee < 0.705
    kl = token_divergence(FORWARD_KL, **LAWS).item()
    assert bernoulli_kl(0.815, guarantee).item() == pytest.approx(kl, rel=1e-11)
