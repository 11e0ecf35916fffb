import pytest
import torch

from toy_lm.threads import one_thread


def failing():
    with one_thread():
        raise KeyError(torch.get_num_threads())


def test_threads_are_given_back_after_an_error_too():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError, match=r"^1$"):
            failing()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
