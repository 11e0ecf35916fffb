import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dph_theory import excess_kl
from toy_lm.collapse.measure import measure, rates
from toy_lm.collapse.optimum import best_dirac
from toy_lm.collapse.problem import CollapseProblem, all_words, random_brackets, reference
from toy_lm.engine.markov import MarkovLM


@pytest.mark.parametrize("homogeneous", [True, False])
def test_a_dirac_has_lost_all_but_its_word_which_where_there_is_but_one_is_no_collapse(homogeneous):
    problem, first = reference(), np.zeros(1, dtype=int)
    family = problem.family(homogeneous=homogeneous)
    (line,) = measure(problem, family, best_dirac(problem, family), first)
    top = problem.targets[0].max()
    assert line["pass_rate"] == line["top"] == line["top_share"] == 1
    assert line["top_word"] == "()()()()"
    assert line["collapsed"]
    assert line["effective"] == pytest.approx(1)
    assert line["coverage"] == pytest.approx(top)
    assert line["forward_kl"] == np.inf
    assert line["kl"] == pytest.approx(-np.log(top * problem.base_rates[0]))
    assert line["excess_kl"] == pytest.approx(-np.log(top))
    bases = MarkovLM(np.array([[0.99, 0.01]]), np.array([[[0.01, 0.99], [0.99, 0.01]]]))
    sharp = CollapseProblem("sharp", bases, problem.automaton, 8)
    (line,) = measure(sharp, family, best_dirac(sharp, family), first)
    assert sharp.targets.max() > 0.9
    assert not line["collapsed"]


@settings(max_examples=8, deadline=None)
@given(homogeneous=st.booleans(), seed=st.integers(0, 999))
def test_every_measure_against_enumeration(homogeneous, seed):
    problem = random_brackets(2, seed)
    family = problem.family(homogeneous=homogeneous)
    theta = torch.from_numpy(np.random.default_rng(seed).normal(size=(2, family.size)))
    words = all_words(2, 8)
    valid = problem.automaton.accepts(words)
    p = family.log_prob(family.rows(theta), torch.from_numpy(words)).exp().numpy()
    a = np.exp(problem.bases.log_prob(words))
    parts = excess_kl(p, a, valid)
    for row, line in enumerate(measure(problem, family, theta, np.arange(2))):
        q, target = p[row, valid] / p[row, valid].sum(), problem.targets[row]
        wanted = {
            "pass_rate": p[row, valid].sum(),
            "top": p[row, valid].max(),
            "top_share": q.max(),
            "effective": np.exp(-(q * np.log(q)).sum()),
            "forward_kl": (target * np.log(target / p[row, valid])).sum(),
            "kl": parts.total[row],
            "excess_kl": parts.excess[row],
            "coverage": target[q >= target / 2].sum(),
        }
        assert {name: line[name] for name in wanted} == pytest.approx(wanted, rel=1e-9)
        assert (line["case"], line["family"]) == (row, family.name)
    for line in measure(problem, family, problem.rows(family).flatten(-2), np.arange(2)):
        # The base itself has lost nothing.
        assert line["coverage"] == pytest.approx(1)
        assert (line["kl"], line["excess_kl"]) == pytest.approx((0, 0), abs=1e-13)


TARGETS = [
    {"case": case, "effective": effective, "top_share": share}
    for case, effective, share in ((0, 8.0, 0.4), (1, 2.0, 0.8), (2, 1.0, 0.95))
]


def fit(case, effective, collapsed, **more):
    more |= {"pass_rate": 0.5, "coverage": 0.25, "excess_kl": float(case), "family": "f"}
    return {"case": case, "effective": effective, "collapsed": collapsed, **more}


def test_bases_whose_target_is_one_word_do_not_count():
    reverse = {"objective": "reverse_kl", "mu": 0.9}
    found = {"method": "global", "is_global": True}
    fits = [
        fit(case, effective, collapsed, **reverse, **found, certificate={"agree": agree})
        for case, effective, collapsed, agree in ((0, 2.0, True, 3), (1, 2.0, False, 2), (2, 1.0, False, 9))
    ]
    fits += [fit(case, 1.0, True, **reverse, method="ascent", is_global=case == 0) for case in range(3)]
    fits += [fit(0, 4.0, False, objective="alpha", alpha=0.5, method="global")]
    best, ascent, alpha = rates(fits, TARGETS)
    counts = {"bases": 2, "collapsed": 1, "is_global": 2, "confirmed": 1}
    means = {"effective_kept": (2 / 8 + 2 / 2) / 2, "pass_rate": 0.5, "coverage": 0.25, "excess_kl": 0.5}
    assert best.items() >= (counts | means).items()
    assert ascent.items() >= {"method": "ascent", "collapsed": 2, "is_global": 1}.items()
    assert alpha.items() >= {"alpha": 0.5, "mu": None, "bases": 1, "effective_kept": 0.5}.items()
    assert "confirmed" not in ascent
    assert "is_global" not in alpha
