import torch
from support.tiny_styles_base import base

from toy_lm.styles import transformer
from toy_lm.styles.tasks import tokens_of
from toy_lm.styles.transformer import ResponseLaw, Transformer, exact_law, pass_rates, token_log_probs


def fresh(layers=2):
    torch.manual_seed(3)
    return Transformer(16, 2, layers)


PROMPTS = torch.tensor([[0, 0], [3, 12], [15, 15]])


def test_the_enumerated_law_sums_to_one():
    for model in (fresh(), base()[1]):
        total = exact_law(model, PROMPTS).joint().exp().sum(dim=1)
        torch.testing.assert_close(total, torch.ones(3, dtype=torch.float64), atol=1e-13, rtol=0)


def test_the_tree_gives_what_a_causal_pass_over_each_response_gives():
    model, prompts = fresh(), torch.arange(3).repeat_interleave(500)
    responses = tokens_of(torch.arange(500)).repeat(3, 1)
    law = exact_law(model, PROMPTS)
    one_by_one = token_log_probs(model, PROMPTS[prompts], responses).double()
    torch.testing.assert_close(law.tokens(prompts, responses), one_by_one, atol=2e-6, rtol=0)
    torch.testing.assert_close(law.joint().flatten(), one_by_one.sum(dim=1), atol=5e-6, rtol=0)


def test_a_tree_whose_branches_see_each_other_would_not(monkeypatch):
    model = fresh()
    right = exact_law(model, PROMPTS).joint()
    tokens, position, seen = transformer._tree()
    monkeypatch.setattr(transformer, "_tree", lambda: (tokens, position, torch.ones_like(seen).tril()))
    assert (exact_law(model, PROMPTS).joint() - right).abs().max() > 0.01


def test_no_token_sees_a_later_one():
    model = fresh()
    one, other = torch.tensor([[2, 3, 4]]), torch.tensor([[2, 7, 9]])
    before, after = (token_log_probs(model, PROMPTS[:1], r) for r in (one, other))
    assert before[0, 0] == after[0, 0]
    assert before[0, 2] != after[0, 2]


def test_a_response_to_another_prompt_has_another_probability():
    law = exact_law(fresh(), torch.tensor([[3, 12], [12, 3]])).joint()
    assert (law[0] - law[1]).abs().max() > 1e-3


def test_the_pass_rate_is_the_mass_of_what_is_accepted():
    task, _, law = base()
    joint = law.joint().exp()
    rates = pass_rates(law, task)
    for prompt in (0, 17, 255):
        expected = sum(joint[prompt, i].item() for i in task.valid[prompt].nonzero()[:, 0])
        assert abs(rates[prompt].item() - expected) < 1e-14


def test_the_joint_law_is_ordered_by_outcome():
    style, tens = torch.full((1, 5), 0.2).log(), torch.full((1, 5, 10), 0.1).log()
    ones = torch.full((1, 5, 10, 10), -torch.inf)
    ones[..., 7] = 0.0
    joint = ResponseLaw(style.double(), tens.double(), ones.double()).joint().exp()
    assert torch.equal(joint[0].nonzero()[:, 0], torch.arange(7, 500, 10))
