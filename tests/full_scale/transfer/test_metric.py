"""The metric of Adam's steps, held to Adam's own steps and to gradients that are written out."""

import json

import numpy as np
import pytest
import torch
from support.tiny_llama import tiny_llama
from transformers import AutoModelForCausalLM, AutoTokenizer

from dph_theory.stationary import group_weight
from full_scale.recipe.schema import ModelConfig
from full_scale.transfer.answers import Atom, log_probs
from full_scale.transfer.gradients import Gradients
from full_scale.transfer.measure import measure_files
from full_scale.transfer.metric import ADAM, EUCLIDEAN, Metric, measured_metric
from full_scale.transfer.sketch import Sketch

from .test_gradients import PROMPTS, both, gpt2, llama, tied

PROMPT_WORDS, RATE, STEPS = [f"p{i} p{j}" for i in range(4) for j in range(4)], 1e-5, 8
TRAINED = PROMPT_WORDS[::2]


def test_of_mean_squares_of_rank_one_it_is_adams():
    rows, columns = torch.tensor([1e2, 1.0, 1e-2]), torch.tensor([4.0, 9.0])
    metric = Metric.of_squares({"matrix": torch.outer(rows, columns)}, ["matrix"], ADAM)
    root = torch.outer(*metric.factors["matrix"])
    torch.testing.assert_close(root**-4, torch.outer(rows, columns))


def test_weights_that_no_trained_prompt_reaches_do_not_count():
    metric = Metric.of_squares({"matrix": torch.tensor([[0.0, 0.0], [1.0, 4.0]])}, ["matrix"], ADAM)
    assert metric.factors["matrix"][0][0] == 0


@pytest.mark.parametrize("build", [llama, tied, gpt2])
def test_inner_products_are_those_in_the_metric(build, tmp_path):
    model = build(tmp_path)
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    draw = torch.Generator().manual_seed(0)
    squares = {name: torch.rand(weight.shape, generator=draw) for name, weight in weights.items()}
    matrices = Gradients(model, Sketch()).matrices
    measured, exact = both(model, metric=Metric.of_squares(squares, matrices, ADAM))
    assert (measured - exact).abs().max() < 4 / 360


def test_v_is_the_square_of_the_expected_gradient_and_the_noise_of_single_answers(tmp_path, monkeypatch):
    captured = {}
    monkeypatch.setattr(Metric, "of_squares", lambda v, *_: captured.update(v) or Metric({}, 1.0))
    model, prompts = llama(tmp_path), 5
    atoms = [Atom(((7,),), None, True), Atom(((4,),), None, False)]
    measured_metric(model, [(PROMPTS[0], atoms)], [], ADAM, prompts)
    weights = dict(model.named_parameters())
    (scores,) = log_probs(model, PROMPTS[0], [(7,), (4,)])
    right, wrong = scores.exp()
    # Of all others together: log(1 - p - q).
    logs = [scores[0], scores[1], (1 - right - wrong).log()]
    shares = torch.stack([right, wrong, 1 - right - wrong]).tolist()
    rate, expected, noise = shares[0], 0.0, 0.0
    for share, log_p, correct in zip(shares, logs, (1, 0, 0), strict=True):
        slopes = torch.autograd.grad(log_p, [*weights.values()], retain_graph=True)
        advantage = float(group_weight(16, rate)) * (correct - rate)
        flat = torch.cat([slope.flatten() for slope in slopes])
        expected, noise = expected + share * advantage * flat, noise + share * (advantage * flat) ** 2
    v = torch.cat([captured[name].flatten() for name in weights])
    torch.testing.assert_close(v, expected**2 + noise / (prompts * 16), rtol=1e-3, atol=1e-9)


def test_where_no_prompt_has_both_rewards_the_metric_is_plain(tmp_path):
    atoms = [Atom(((7,), (4,)), 1.0, True)]
    metric = measured_metric(llama(tmp_path), [(PROMPTS[0], atoms)], [], ADAM, 1)
    assert (metric.factors, np.isnan(metric.step)) == ({}, True)


def test_steps_of_adam_move_other_prompts_as_its_own_kernel_says(tmp_path):
    folder = tiny_llama(tmp_path / "llama", scale=8.0)
    files = []
    for name, prompts in (("train", TRAINED), ("held", PROMPT_WORDS[1::2])):
        files.append(tmp_path / f"{name}.jsonl")
        lines = [{"prompt": prompt, "answers": [f"w{1 + len(prompt) % 3}"]} for prompt in prompts]
        files[-1].write_text("\n".join(map(json.dumps, lines)))
    correlations = {}
    moved = None
    for metric in (ADAM, EUCLIDEAN):
        kernel = measure_files(
            ModelConfig(path=str(folder)), files, tmp_path / f"{metric}.npz", metric=metric
        )
        moved = trained_by_adam(folder, kernel) if moved is None else moved
        coupling, rates = kernel.log_odds
        forces = np.where(np.isin(np.arange(len(rates)), kernel.prompts_in("train")), rates * (1 - rates), 0)
        held_out = kernel.prompts_in("held out")
        correlations[metric] = np.corrcoef((coupling @ forces)[held_out], moved[held_out])[0, 1]
    assert correlations[ADAM] > 0.9
    assert correlations[ADAM] > correlations[EUCLIDEAN] + 0.02


def trained_by_adam(folder, kernel):
    """The change of all prompts' log odds by a few steps on the expected reward of the trained ones."""
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    right = torch.tensor([tokenizer(f"w{1 + len(name) % 3}")["input_ids"][0] for name in kernel.names])
    ids = torch.tensor([tokenizer(name)["input_ids"] for name in kernel.names])
    trained = torch.from_numpy(kernel.prompts_in("train"))

    def rates():
        return model(input_ids=ids).logits[:, -1].softmax(-1).gather(1, right[:, None])[:, 0]

    optimiser = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.99))
    before = rates().detach().logit()
    for _ in range(STEPS):
        optimiser.zero_grad()
        (-rates()[trained].mean()).backward()
        optimiser.step()
    return (rates().detach().logit() - before).numpy()
