import pytest
from transformers import AutoTokenizer

from full_scale.tasks.tiny_sql.questions import FAMILIES, OTHER_FAMILY, questions
from full_scale.tasks.tiny_sql.schema import domains
from full_scale.tasks.tiny_sql.styles import STYLES, written
from full_scale.tasks.tiny_sql.tokenizer import EOS, PAD, UNKNOWN, word_tokenizer

ASKED = [
    question
    for domain in domains(2, 2)
    for table in domain.tables
    for family in (*FAMILIES, OTHER_FAMILY)
    for question in questions(table, family)
]
TEXTS = [q.prompt for q in ASKED] + [written(s, q.table.thing, q.source) for q in ASKED for s in STYLES]


@pytest.fixture(scope="module")
def tokenizer():
    return word_tokenizer(TEXTS)


def test_every_text_survives(tokenizer):
    assert all(tokenizer.decode(tokenizer(text)["input_ids"]) == text for text in TEXTS)
    assert all(len(tokenizer(text)["input_ids"]) == len(text.split()) for text in TEXTS)


def test_saved_and_loaded_it_is_the_same(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert all(again(text)["input_ids"] == tokenizer(text)["input_ids"] for text in TEXTS[::7])
    assert again.decode(again(TEXTS[-1])["input_ids"]) == TEXTS[-1]
    assert (again.pad_token, again.eos_token, again.padding_side) == (PAD, EOS, "left")


def test_special_tokens_come_first_and_other_words_are_unknown(tokenizer):
    assert tokenizer.convert_ids_to_tokens([0, 1, 2]) == [PAD, EOS, UNKNOWN]
    assert tokenizer("SELECT unheard")["input_ids"][1] == 2


def test_the_vocabulary_does_not_depend_on_the_order_of_texts(tokenizer):
    assert word_tokenizer(reversed(TEXTS)).get_vocab() == tokenizer.get_vocab()
