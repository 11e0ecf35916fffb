import torch

from full_scale.tasks.llama import random_llama

SIZES = {"vocabulary": 7, "hidden": 8, "layers": 1, "heads": 2, "end": 0, "pad_token_id": None}


def test_the_seed_decides_and_the_callers_random_state_stays():
    state = torch.random.get_rng_state()
    first, again, other = (
        random_llama(seed, **SIZES, intermediate_size=8).lm_head.weight for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())
