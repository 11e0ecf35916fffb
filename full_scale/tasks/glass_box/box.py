"""A task whose answers can all be enumerated: the base's wanted next-token tables, and a verifier's table."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerFast

from dph_theory.laws import law_validity
from dph_theory.support.errors import argument_error

from ..llama import word_level

END = "<end>"
MOST_ANSWERS = 500_000
"""Of all texts together; the longest forward pass has that many tokens' logits."""


@dataclass(frozen=True, eq=False)
class GlassBox:
    """Texts to continue by `length` tokens, V words and the end symbol, and which answers are valid.

    A row is what a trainer sees as a prompt: a text and a verifier. Several rows may share a text; a policy
    cannot tell those apart. `base`: table t, (texts, V+1, ..., V+1) with t+1 trailing axes, the wanted law of
    token t given those before it. `valid`: (rows, V+1, ..., V+1), one axis a token; the end symbol is the
    last word, and an ended answer stands at the entry padded with it. ValueError for shapes that do not
    fit, more than MOST_ANSWERS answers, or a row whose valid answers have no mass.
    """

    name: str
    words: tuple[str, ...]
    base: tuple[np.ndarray, ...]
    valid: np.ndarray
    texts: tuple[int, ...]
    """The text of each row."""

    def __post_init__(self) -> None:
        check_size(len(self.base[0]), self.vocabulary, self.length)
        if self.valid.shape != (len(self.texts), *[self.vocabulary] * self.length):
            raise argument_error(
                "valid.shape", self.valid.shape, f"rows, then {self.length} axes of {self.vocabulary}"
            )
        for row, rate in enumerate(self.pass_rates(self.base)):
            if rate == 0:
                raise argument_error(
                    "base", f"{self.name}, row {row}", "must give some valid answer of each row mass"
                )

    @property
    def vocabulary(self) -> int:
        """Tokens of the model: the words and the end symbol."""
        return len(self.words) + 1

    @property
    def length(self) -> int:
        """The largest number of tokens of an answer."""
        return len(self.base)

    @property
    def end(self) -> int:
        """The end symbol's token."""
        return len(self.words)

    def of_rows(self, tables: Any) -> list[np.ndarray]:
        """Tables of each text as tables of each row."""
        return [table[list(self.texts)] for table in tables]

    def pass_rates(self, tables: Any) -> np.ndarray:
        """The validity of each row under tables of each text, (rows,)."""
        return law_validity(self.of_rows(tables), self.valid, self.end)

    @cached_property
    def prompt_ids(self) -> np.ndarray:
        """The tokens of each text, (texts, prompt tokens): the end symbol, its number with words as digits.

        Without a first token of its own a Llama could not tell one word from the same word twice.
        """
        count, digits = len(self.base[0]), 0
        while len(self.words) ** digits < count:
            digits += 1
        powers = len(self.words) ** np.arange(digits)[::-1]
        numbers = np.arange(count)[:, None] // powers % len(self.words)
        return np.concatenate([np.full((count, 1), self.end), numbers], axis=1)

    @property
    def prompts(self) -> list[str]:
        """The text of each row, in words."""
        names = (*self.words, END)
        return [" ".join(names[i] for i in self.prompt_ids[text]) for text in self.texts]

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """One token a word; the end symbol also pads."""
        return word_level((*self.words, END), END, pad_token=END, eos_token=END)

    def before_the_end(self, length: int) -> np.ndarray:
        """One for prefixes of that length without the end symbol, else zero."""
        return np.asarray((np.indices((self.vocabulary,) * length) != self.end).all(axis=0), dtype=float)

    def verdicts(self, rows: list[int], completions: list[list[int]]) -> list[float]:
        """v of token sequences, each an answer to a row: cut to the length, padded with the end symbol."""
        answers = np.full((len(rows), self.length), self.end)
        for answer, tokens in zip(answers, completions, strict=True):
            answer[: len(tokens)] = tokens[: self.length]
        return self.valid[(np.array(rows), *answers.T)].astype(float).tolist()


def check_size(texts: int, vocabulary: int, length: int) -> None:
    """ValueError where there are too many answers to enumerate."""
    count = texts * vocabulary**length
    if count > MOST_ANSWERS:
        raise argument_error(
            "answers",
            count,
            f"at most {MOST_ANSWERS:,}: {texts} texts x {vocabulary} tokens ^ {length}; a smaller vocabulary "
            "or a shorter answer",
        )
