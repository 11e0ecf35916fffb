import pytest
import torch

from dph_theory.audit.advantages import audit_advantage
from dph_theory.audit.advantages.forms import FORMS, best_minus_second, pass_at_k_training, pkpo

R = torch.tensor([[1.0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]], dtype=torch.float64)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("size", [4, 16])
def test_every_form_is_audited_in_the_rewards_own_precision(form, size):
    size = min(size, form.largest_group)
    assert form.advantage(R).dtype == torch.float64
    found = audit_advantage(form.advantage, group_size=size, drops_equal_groups=form.drops)
    assert found.not_finite == ()


def test_published_numbers():
    # PKPO: a lone right answer of eight earns k/n, a wrong one (k/n) rho(n-1, 1, k-1) = 4/8 * 3/7.
    assert (pkpo(R)[0, :2] / 8).tolist() == pytest.approx([1 / 2, 3 / 14])
    assert best_minus_second(R).sum(dim=-1).tolist() == [1, 0]
    # Pass@k training: with R = 1/2 and s = 1/2, right 1, wrong (1/2 - C(6,3)/C(7,3))/s.
    assert pass_at_k_training(R)[0, :2].tolist() == pytest.approx([1, 1 - 2 * 20 / 35])
