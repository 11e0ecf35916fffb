import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from toy_lm.collapse.family import Bigrams
from toy_lm.collapse.problem import all_words
from toy_lm.engine.markov import MarkovLM

families = st.builds(Bigrams, st.integers(2, 3), st.integers(2, 4), st.booleans())


def logits(family, seed, rows=2, scale=2.0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(scale * rng.normal(size=(rows, family.size)))


def words_of(family):
    return torch.from_numpy(all_words(family.vocabulary, family.length))


@settings(max_examples=25, deadline=None)
@given(family=families, seed=st.integers(0, 999))
def test_the_frame_is_orthonormal_in_the_fisher_metric_and_leaves_only_null_directions(family, seed):
    theta = logits(family, seed, rows=1)[0].requires_grad_()
    log_p = family.log_prob(family.rows(theta), words_of(family))
    scores = torch.stack([torch.autograd.grad(x, theta, retain_graph=True)[0] for x in log_p])
    fisher = torch.einsum("w,wp,wq->pq", log_p.exp(), scores, scores).detach()
    frame = family.frame(theta.detach()[None])[0]
    torch.testing.assert_close(frame.T @ fisher @ frame, torch.eye(len(frame.T)).double(), atol=1e-8, rtol=0)
    assert frame.shape[1] == family.contexts * (family.vocabulary - 1) == torch.linalg.matrix_rank(fisher)


@settings(max_examples=25, deadline=None)
@given(family=families, seed=st.integers(0, 999))
def test_words_are_sums_of_their_cells_and_the_kl_to_a_member_is_that_of_the_words(family, seed):
    theta, other = logits(family, seed), family.rows(logits(family, seed + 1))
    rows, words = family.rows(theta), words_of(family)
    tables = rows[:, 1:].unflatten(1, (-1, family.vocabulary))
    steps = torch.zeros(family.length - 1).long() if family.homogeneous else torch.arange(family.length - 1)
    log_p, log_q = (family.log_prob(of, words) for of in (rows, other))
    wanted = rows[:, 0, words[:, 0]] + tables[:, steps, words[:, :-1], words[:, 1:]].sum(-1)
    torch.testing.assert_close(log_p, wanted, rtol=1e-10, atol=0)
    torch.testing.assert_close(family.kl(theta, other), (log_p.exp() * (log_p - log_q)).sum(-1))
    assert (family.kl(theta, rows) == 0).all()


@pytest.mark.parametrize("homogeneous", [True, False])
def test_a_homogeneous_model_lies_in_both_families(homogeneous):
    family, base = Bigrams(3, 4, homogeneous), MarkovLM.random(3, batch=(2,), seed=0)
    found = family.log_prob(family.tables(base), words_of(family))
    np.testing.assert_allclose(found, base.log_prob(words_of(family).numpy()), rtol=1e-12)


def test_diracs_in_reach_are_those_of_deterministic_maps():
    family = Bigrams(3, 5, homogeneous=True)
    words, reached = words_of(family), set()
    for first, *after in itertools.product(range(3), repeat=4):
        word = [first]
        while len(word) < 5:
            word.append(after[word[-1]])
        reached.add(tuple(word))
    assert {tuple(word) for word in words[family.contains_dirac(words)].tolist()} == reached
    assert Bigrams(3, 5, homogeneous=False).contains_dirac(words).all()


@pytest.mark.parametrize("homogeneous", [True, False])
def test_diracs_say_their_word_and_nearly_so_with_a_finite_scale(homogeneous):
    family = Bigrams(2, 6, homogeneous)
    words = words_of(family)[family.contains_dirac(words_of(family))]
    exactly = family.log_prob(family.rows(family.dirac(words)), words).exp()
    torch.testing.assert_close(exactly, torch.eye(len(words)).double())
    nearly = family.log_prob(family.rows(family.dirac(words, 6.0)), words).exp().diagonal()
    torch.testing.assert_close(nearly, torch.full_like(nearly, (1 + np.exp(-6.0)) ** -6))


@pytest.mark.parametrize(("V", "length", "name"), [(1, 4, "vocabulary=1"), (2, 1, "length=1")])
def test_too_small_families_are_refused(V, length, name):
    with pytest.raises(ValueError, match=name):
        Bigrams(V, length, homogeneous=True)
