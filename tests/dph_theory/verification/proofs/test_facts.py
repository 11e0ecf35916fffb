from dph_theory.verification.proofs.facts import Facts, related, term
from dph_theory.verification.proofs.fractions import generator

x, y = generator(1), generator(2)


def test_what_follows_and_what_does_not():
    facts = Facts()
    facts.add_positive(1)
    facts.needed.add(lambda: [term(y) > term(x)])
    assert facts.follows(term(y) > 0) is True
    assert facts.follows(term(y) > 1) is False
    assert facts.sign(x * x + 3 * x) == 1
    assert facts.sign(x - y) == -1
    assert facts.sign(x - 1) == 0
    assert facts.nowhere_zero(y - x)
    assert not facts.nowhere_zero(y - 1)


def test_helpful_facts_are_used():
    facts = Facts()
    assert facts.follows(term(x) > 2) is False
    facts.helpful.add(lambda: [term(x) > 3])
    assert facts.follows(term(x) > 2) is True


def test_a_question_that_is_too_hard_is_left_open(monkeypatch):
    monkeypatch.setattr("dph_theory.verification.proofs.facts.EFFORT", 1)
    facts = Facts()
    facts.add_positive(1)
    assert facts.follows(related(">=0", term(x**7 * y**4 - 3 * x**2 * y**2 + x * y**6 + 1))) is None
