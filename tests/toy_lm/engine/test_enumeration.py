"""Enumeration: any torch autoregressive model, its bound, and its agreement with Markov models."""

import numpy as np
import pytest
import torch
from support.toy_model_strategies import DYCK, DYCK_BASE, DYCK_LENGTH

from toy_lm import Enumerated, MarkovLM, counting, filtered_lm
from toy_lm.engine import exact
from toy_lm.engine.enumeration import all_words, word_log_probs


def test_words_are_numbered_in_order():
    assert all_words(3, 2).tolist() == [[a, b] for a in range(3) for b in range(3)]
    assert all_words(2, 0).shape == (1, 0)


class Recurrent(torch.nn.Module):
    """A tiny GRU that reads the whole prefix."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.cell = torch.nn.Embedding(3, 4), torch.nn.GRU(4, 5, batch_first=True)
        self.out = torch.nn.Linear(5, 2)

    def forward(self, prefixes: torch.Tensor) -> torch.Tensor:
        start = torch.full((len(prefixes), 1), 2)
        states, _ = self.cell(self.embedding(torch.cat([start, prefixes], dim=1)))
        return self.out(states[:, -1])


def test_a_recurrent_network_is_a_law_over_words():
    log_p = word_log_probs(Recurrent().double(), 2, 6)
    assert log_p.shape == (64,)
    assert log_p.exp().sum().item() == pytest.approx(1, abs=1e-12)
    # The same as multiplying the next-symbol laws along one word.
    model, word = Recurrent().double(), all_words(2, 6)[37]
    prefix = torch.from_numpy(word.copy())[None]
    by_hand = sum(torch.log_softmax(model(prefix[:, :t]), -1)[0, word[t]] for t in range(6))
    assert log_p[37].item() == pytest.approx(by_hand.item(), abs=1e-13)


def test_a_recurrent_network_is_the_markov_model_of_full_order():
    # Every law on words of length L is Markov of order L - 1, so the exact engine must agree on it.
    network, length = Recurrent().double(), 5
    tables = [network(torch.from_numpy(all_words(2, t).copy())).detach().numpy() for t in range(length)]
    markov = MarkovLM.from_logits(tuple(tables[:-1]), tables[-1])
    even, base = counting("()", "(", modulo=2), MarkovLM.random(2, seed=0)
    law, other = (Enumerated.of(model, even, length) for model in (network, base))
    np.testing.assert_allclose(
        np.exp(word_log_probs(markov, 2, length)), law.probabilities, rtol=0, atol=1e-13
    )
    assert exact.entropy(markov, length) == pytest.approx(law.entropy(), abs=1e-12)
    found, expected = exact.excess_kl(markov, base, even, length), law.excess_kl(other)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_network_that_is_markov_is_recognised_with_its_gradient():
    logits = torch.randn(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    logits.requires_grad_()

    def network(prefixes):
        last = prefixes[:, -1] if prefixes.shape[1] else torch.full((len(prefixes),), 2)
        return logits[last]

    markov = MarkovLM.from_logits(logits[2], logits[:2])
    by_network, by_markov = word_log_probs(network, 2, 6), word_log_probs(markov, 2, 6)
    torch.testing.assert_close(by_network, by_markov, rtol=0, atol=1e-13)
    valid = torch.from_numpy(DYCK.accepts(all_words(2, 6)))
    (slow,) = torch.autograd.grad(by_network[valid].exp().sum(), logits)
    (fast,) = torch.autograd.grad(exact.validity(markov, DYCK, 6), logits)
    torch.testing.assert_close(slow, fast, rtol=0, atol=1e-13)


def test_a_product_model_is_enumerated_too():
    law = Enumerated.of(filtered_lm(DYCK_BASE, DYCK, DYCK_LENGTH), DYCK, DYCK_LENGTH)
    assert law.validity() == pytest.approx(1, abs=1e-14)
    assert law.entropy() == pytest.approx(2.0668529395151, rel=1e-12)
    assert law.distinct_valid(10**6) == pytest.approx(14, abs=1e-12)


def test_too_many_words_are_an_error_that_says_the_bound():
    with pytest.raises(ValueError, match=r"length=21 .* 2097152 words, but at most 1048576"):
        all_words(2, 21)
    with pytest.raises(ValueError, match="at most 10"):
        word_log_probs(DYCK_BASE, 2, 4, at_most=10)
    with pytest.raises(ValueError, match=r"logits.shape=\(1, 3\)"):
        word_log_probs(lambda prefixes: torch.zeros(len(prefixes), 3), 2, 4)
