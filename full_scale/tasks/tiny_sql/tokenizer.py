"""A word-level tokenizer: one token for each word between spaces, so that SQL text survives unchanged."""

from collections.abc import Iterable

from transformers import PreTrainedTokenizerFast

from ..llama import word_level

PAD, EOS, UNKNOWN = "<pad>", "<eos>", "<unk>"


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """The tokenizer of the words in the texts, in alphabetical order after the special tokens.

    Decoding joins words by single spaces: what is written so is read back as it was. Other words are <unk>.
    """
    words = sorted({word for text in texts for word in text.split()} - {PAD, EOS, UNKNOWN})
    settings = {"pad_token": PAD, "eos_token": EOS, "clean_up_tokenization_spaces": False}
    return word_level((PAD, EOS, UNKNOWN, *words), UNKNOWN, **settings)
