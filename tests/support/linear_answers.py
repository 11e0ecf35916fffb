"""Prompts whose answers have linear logits: the linearised model is the model, so its training is exact."""

import numpy as np

from dph_theory.transfer import AnswerKernel


def linear_answers(seed=0, prompts=5, answers=4, features=9, trained=3, spread=1.5):
    """A kernel of random features, the features (prompts, answers, features) and the base's logits."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(prompts, answers, features)) / np.sqrt(features)
    logits = spread * rng.normal(size=(prompts, answers))
    correct = rng.random((prompts, answers)) < 0.4
    correct[:, 0], correct[:, -1] = True, False
    p = softmax(logits)
    # The gradient of a log-probability: the answer's features less their mean.
    centred = (slopes - np.einsum("iy,iyd->id", p, slopes)[:, None]).reshape(-1, features)
    names = tuple(f"prompt {i}" for i in range(prompts))
    sets = tuple("train" if i < trained else "held out" for i in range(prompts))
    rows = np.repeat(np.arange(prompts), answers), np.log(p).ravel(), correct.ravel()
    return AnswerKernel(names, sets, *rows, centred), slopes, logits, correct


def gram(kernel):
    return kernel.gradients.astype(float) @ kernel.gradients.T


def softmax(logits):
    mass = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return mass / mass.sum(axis=-1, keepdims=True)


def log_odds(rates):
    return np.log(rates) - np.log1p(-rates)
