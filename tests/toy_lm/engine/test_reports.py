"""The report: every number against enumeration; JSON; errors."""

import json
import math

import numpy as np
import pytest
from support.toy_model_strategies import DYCK, DYCK_BASE

from dph_theory import REVERSE_KL
from dph_theory.support.files import write_json
from toy_lm import Enumerated, MarkovLM, report

POLICY = MarkovLM.random(2, 2, seed=4)
FOUND = report(POLICY, DYCK_BASE, DYCK, 8, fraction=0.5)
P, A = Enumerated.of(POLICY, DYCK, 8), Enumerated.of(DYCK_BASE, DYCK, 8)


def test_every_number_is_as_enumerated():
    parts, valid = P.excess_kl(A), P.filtered()
    expected = {
        "validity": P.validity(),
        "log_validity": np.log(P.validity()),
        "kl": parts.total,
        "kl_validity": parts.validity,
        "kl_valid": parts.valid,
        "kl_invalid": parts.invalid,
        "excess_kl": parts.excess,
        "entropy": P.entropy(),
        "valid_entropy": valid.entropy(),
        "effective_number": np.exp(valid.entropy()),
        "target_entropy": A.filtered().entropy(),
        "forward_kl": A.filtered().divergence(REVERSE_KL, P),
        "valid_forward_kl": A.filtered().divergence(REVERSE_KL, valid),
        "top_mass": P.probabilities[P.valid].max(),
        "valid_top_mass": valid.probabilities.max(),
        "coverage": P.coverage(A, 0.5),
    }
    for name, value in expected.items():
        assert getattr(FOUND, name) == pytest.approx(value, rel=1e-12, abs=1e-12), name
    assert P.probabilities[int("".join(str(DYCK.alphabet.index(c)) for c in FOUND.top), 2)] == pytest.approx(
        FOUND.top_mass
    )


def test_it_goes_through_json(tmp_path):
    missing = MarkovLM.from_probabilities([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    found = report(missing, DYCK_BASE, DYCK, 8)
    assert found.forward_kl == math.inf
    assert found.coverage is None
    write_json(tmp_path / "report.json", found.as_json())
    read = json.loads((tmp_path / "report.json").read_text())
    assert read["forward_kl"] == "inf"
    assert (read["top"], read["valid_top_mass"], read["effective_number"]) == ("()()()()", 1.0, 1.0)


def test_errors():
    with pytest.raises(ValueError, match="length=7"):
        report(POLICY, DYCK_BASE, DYCK, 7)
    with pytest.raises(ValueError, match="the automaton accepts all of the words"):
        report(POLICY, DYCK_BASE, DYCK | ~DYCK, 8)
    silent = MarkovLM.from_probabilities([0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]])
    sizes = r"MarkovLM\(vocabulary=2, order=1, length=None, batch=\(\)\)"
    with pytest.raises(ValueError, match=rf"policy={sizes}.* some valid word of length 8"):
        report(silent, DYCK_BASE, DYCK, 8)
    with pytest.raises(ValueError, match=r"automaton.symbols=2 .*vocabulary has 3 symbols"):
        report(*[MarkovLM.random(3, seed=0)] * 2, DYCK, 8)
    with pytest.raises(ValueError, match=r"base.batch=\(3,\)"):
        report(POLICY, MarkovLM.random(2, batch=(3,), seed=0), DYCK, 8)
