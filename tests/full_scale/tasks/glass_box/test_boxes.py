import numpy as np
import pytest

from dph_theory.laws import law_divergence, locally_filtered
from full_scale.tasks.glass_box.boxes import BOXES, box, dial


@pytest.mark.parametrize("name", BOXES)
def test_every_box_is_complete(name):
    found = box(name)
    assert found.name == name
    assert all(np.allclose(table.sum(axis=-1), 1) for table in found.base)
    assert all(0 < rate < 1 for rate in found.pass_rates(found.base))
    assert len(found.tokenizer()) == found.vocabulary


def test_the_two_token_example_is_that_of_theory_e3():
    found = box("selection-2")
    assert found.pass_rates(found.base) == pytest.approx([0.5], abs=1e-3)
    local = locally_filtered(found.base, found.valid, end=found.end)
    # 1.20397280433 without the end symbol's ten-thousandth.
    assert law_divergence(local, found.base, end=found.end) == pytest.approx([1.204], abs=2e-3)


def test_brackets_are_balanced():
    valid = box("brackets-6").valid[0]
    assert valid[0, 1, 2, 2, 2, 2]
    assert valid[0, 0, 1, 1, 0, 1]
    assert not valid[0, 1, 1, 0, 2, 2]
    # Catalan numbers of one, two and three pairs.
    assert valid.sum() == 1 + 2 + 5


def test_a_dial_is_its_seeds():
    assert (dial(1).valid == dial(1).valid).all()
    assert not np.allclose(dial(1).base[0], dial(2).base[0])
    with pytest.raises(ValueError, match="task='dial-9' is not allowed: one of selection-2"):
        box("dial-9")
