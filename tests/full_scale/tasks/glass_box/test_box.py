import dataclasses

import numpy as np
import pytest
from support.small_boxes import uniform_box

from dph_theory.laws import law_divergence, locally_filtered
from full_scale.tasks.glass_box.box import BOXES, box, dial


def test_texts_are_written_in_words_and_read_back_by_the_tokenizer():
    box = uniform_box(texts=3)
    assert box.prompts == ["<end> a a", "<end> a b", "<end> b a"]
    tokenizer = box.tokenizer()
    assert tokenizer(box.prompts)["input_ids"] == box.prompt_ids.tolist()
    assert tokenizer.eos_token_id == tokenizer.pad_token_id == box.end == 2


def test_verdicts_of_full_ended_and_empty_answers():
    box = uniform_box()
    assert box.verdicts([0, 1, 0, 1], [[0, 1], [1, 0], [0, 2], [2]]) == [1, 0, 1, 0]


def test_a_row_without_valid_mass_is_named():
    box = uniform_box()
    never = box.valid.copy()
    never[1] = False
    with pytest.raises(ValueError, match=r"uniform, row 1.*must give some valid answer of each row mass"):
        dataclasses.replace(box, valid=never)


def test_too_large_boxes_and_wrong_shapes_are_refused():
    box = uniform_box()
    with pytest.raises(ValueError, match=r"valid\.shape"):
        dataclasses.replace(box, valid=box.valid[:1])
    with pytest.raises(ValueError, match=r"answers=531441 .*at most 500,000"):
        uniform_box(texts=1, words=8, length=6)


def test_rows_of_one_text_have_its_tables():
    box = dataclasses.replace(uniform_box(texts=1), valid=np.ones((3, 3, 3), dtype=bool), texts=(0, 0, 0))
    assert box.pass_rates(box.base) == pytest.approx([1, 1, 1])


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
