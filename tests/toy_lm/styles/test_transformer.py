import torch

from toy_lm.styles.tasks import tokens_of
from toy_lm.styles.transformer import Transformer, exact_distribution, token_log_probs

PROMPTS = torch.tensor([[0, 0], [3, 12], [12, 3]])


def fresh():
    torch.manual_seed(3)
    return Transformer(16, 2, 2)


def test_the_tree_gives_a_law_and_what_a_causal_pass_over_each_response_gives():
    model, prompts = fresh(), torch.arange(3).repeat_interleave(500)
    responses = tokens_of(torch.arange(500)).repeat(3, 1)
    law = exact_distribution(model, PROMPTS)
    joint = law.joint()
    torch.testing.assert_close(joint.exp().sum(dim=1), torch.ones(3).double(), atol=1e-13, rtol=0)
    one_by_one = token_log_probs(model, PROMPTS[prompts], responses).double()
    torch.testing.assert_close(law.tokens(prompts, responses), one_by_one, atol=2e-6, rtol=0)
    torch.testing.assert_close(joint.flatten(), one_by_one.sum(dim=1), atol=5e-6, rtol=0)
    # Another prompt has another law.
    assert (joint[1] - joint[2]).abs().max() > 1e-3


def test_no_token_sees_a_later_one():
    model = fresh()
    one, other = torch.tensor([[2, 3, 4]]), torch.tensor([[2, 7, 9]])
    before, after = (token_log_probs(model, PROMPTS[:1], r) for r in (one, other))
    assert before[0, 0] == after[0, 0]
    assert before[0, 2] != after[0, 2]
