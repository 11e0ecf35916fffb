import dataclasses

import numpy as np
import pytest
from support.small_boxes import uniform_box


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
