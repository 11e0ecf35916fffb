import torch

from full_scale.experiments.pretrained.reading import next_log_probs, pack
from full_scale.tasks.llama import random_llama


def test_packed_sequences_have_the_log_probabilities_and_gradients_of_sequences_apart():
    sequences = [[1, 2, 3], [1, 2, 4, 5], [1, 2], [6, 2, 3]]
    model = random_llama(0, vocabulary=8, hidden=16, layers=2, heads=2, end=0).eval()
    packed = pack(sequences)
    assert packed.ids.shape == (1, 8), "what is shared stands once"
    together = next_log_probs(model, packed)
    apart = torch.stack([model(torch.tensor([s])).logits[0, -1].log_softmax(-1) for s in sequences])
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-5)
    weight = model.model.layers[0].mlp.up_proj.weight
    found, expected = (torch.autograd.grad(each[:, 3].sum(), weight)[0] for each in (together, apart))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
