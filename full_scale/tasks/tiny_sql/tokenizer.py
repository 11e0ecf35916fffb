"""A word-level tokenizer: one token for each word between spaces, so that SQL text survives unchanged."""

from collections.abc import Iterable

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

PAD, EOS, UNKNOWN = "<pad>", "<eos>", "<unk>"


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """The tokenizer of the words in the texts, in alphabetical order after the special tokens.

    Decoding joins words by single spaces: what is written so is read back as it was. Other words are <unk>.
    """
    words = sorted({word for text in texts for word in text.split()} - {PAD, EOS, UNKNOWN})
    vocabulary = {word: index for index, word in enumerate((PAD, EOS, UNKNOWN, *words))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNKNOWN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
