import torch

from full_scale.models.packed import next_log_probs, pack
from full_scale.tasks.llama import random_llama

SEQUENCES = [[1, 2, 3], [1, 2, 4, 5], [1, 2], [6, 2, 3]]


def test_packed_sequences_have_the_log_probabilities_and_gradients_of_sequences_apart():
    model = random_llama(0, vocabulary=8, hidden=16, layers=2, heads=2, end=0).eval()
    packed = pack(SEQUENCES)
    assert packed.ids.shape == (1, 8), "what is shared stands once"
    together = next_log_probs(model, packed)
    together[:, 3].sum().backward()
    gradient = model.model.layers[0].mlp.up_proj.weight.grad.clone()
    model.zero_grad()
    apart = torch.stack([model(torch.tensor([s])).logits[0, -1].log_softmax(-1) for s in SEQUENCES])
    apart[:, 3].sum().backward()
    assert torch.allclose(together, apart, atol=1e-5)
    assert torch.allclose(gradient, model.model.layers[0].mlp.up_proj.weight.grad, atol=1e-5)
