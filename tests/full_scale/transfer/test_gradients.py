"""Sketches of gradients held to gradients that are written out, whatever a model is made of."""

from functools import partial

import pytest
import torch
from support.tiny_llama import tiny_llama
from torch import nn
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

from full_scale.transfer.answers import log_probs
from full_scale.transfer.gradients import Fold, Gradients
from full_scale.transfer.sketch import Sketch

PROMPTS = [(3, 4, 5), (6, 3, 4, 4), (5, 5)]
ANSWERS = [(7,), (4,), (9,), (10,)]


def llama(tmp_path):
    return AutoModelForCausalLM.from_pretrained(tiny_llama(tmp_path, scale=8.0)).eval()


def tied(tmp_path):
    model = llama(tmp_path)
    model.lm_head.weight = model.model.embed_tokens.weight
    return model


def gpt2(tmp_path):
    """Its layers are no linear ones of torch, and have biases."""
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=2, n_head=2)
    return GPT2LMHeadModel(config).eval()


def partly(tmp_path):
    model = llama(tmp_path).requires_grad_(False)
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.weight.requires_grad_(layer.out_features > layer.in_features)
    return model


def both(model, answers=ANSWERS, metric=None, **how):
    """The inner products of all answers' gradients in units of their lengths: by sketches, and exact."""
    gradients = Gradients(model, Sketch(), **how)
    gradients.metric = metric or gradients.metric
    named = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    weights = [*named.values()]
    found, exact = [], []
    for prompt in PROMPTS:
        with gradients.watching():
            found += [gradients(scores) for scores in log_probs(model, prompt, answers)]
        for scores in log_probs(model, prompt, answers):
            for score in scores:
                parts = torch.autograd.grad(score, weights, retain_graph=True)
                exact.append(torch.cat([*map(partial(weighed, gradients.metric), named, parts)]))
    rows, truth = torch.cat(found), torch.stack(exact)
    length = truth.norm(dim=1)
    units = length[:, None] * length
    return rows @ rows.T / units, truth @ truth.T / units


def weighed(metric, name, gradient):
    """A weight's gradient, flat, times the roots of its multipliers."""
    factors = metric.factors.get(name, (torch.ones(()),))
    return (gradient * (torch.outer(*factors) if len(factors) == 2 else factors[0])).flatten()


@pytest.mark.parametrize("made", [llama, tied, gpt2, partly])
@pytest.mark.parametrize("answers", [ANSWERS, [(7, 4), (9, 10)]])
def test_inner_products_are_those_of_the_gradients(made, answers, tmp_path):
    found, exact = both(made(tmp_path), answers)
    # The sketch alone is off by a 360th of two lengths, a standard deviation.
    assert (found - exact).abs().max() < 4 / 360


@pytest.mark.parametrize("made", [llama, tied])
def test_with_few_numbers_they_are_so_on_average(made, tmp_path):
    model = made(tmp_path)
    whole = sum(each.numel() for each in model.parameters())
    off = [found - exact for found, exact in (both(model, numbers=n) for n in (whole // 4, whole // 64))]
    rms = [float(each.square().mean().sqrt()) for each in off]
    assert rms[0] < rms[1] < 0.2
    assert all(abs(float(each.mean())) < 0.05 for each in off)


def test_the_sizes_of_an_earlier_measurement_give_the_same_sketches(tmp_path):
    model = llama(tmp_path)
    first = Gradients(model, Sketch(), numbers=2000)
    with first.watching():
        (before,) = [first(scores) for scores in log_probs(model, PROMPTS[0], ANSWERS)]
    again = Gradients(model, Sketch(), numbers=2000, sizes=first.sizes)
    with again.watching():
        assert len([again(scores) for scores in log_probs(model, PROMPTS[1], ANSWERS)]) == 1
        (after,) = [again(scores) for scores in log_probs(model, PROMPTS[0], ANSWERS)]
    torch.testing.assert_close(after, before)


@pytest.mark.parametrize(("length", "size"), [(10, 4), (64, 16), (7, 7), (5, 9)])
def test_a_fold_is_linear_and_keeps_inner_products_on_average(length, size):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(2, length, generator=generator)
    folds = [Fold(length, size, seed) for seed in range(400)]
    products = torch.stack([fold(x) @ fold(y) for fold in folds])
    most = float((x @ x * (y @ y) + (x @ y) ** 2) / size) ** 0.5
    assert float((products - x @ y).square().mean().sqrt()) < 1.2 * most * (size < length) + 1e-4
    assert abs(float(products.mean() - x @ y)) < 4 * most / 20
    torch.testing.assert_close(folds[0](x) + 2 * folds[0](y), folds[0](x + 2 * y))
    places = torch.tensor([0, length - 1])
    torch.testing.assert_close(folds[0].of_units(places), folds[0](torch.eye(length)[places]))
