"""Enumerable tasks by name: the wanted next-token tables, and the verifier as a table."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from dph_theory.stationary import table_pass_rate
from dph_theory.support.errors import argument_error, choice

END = "<end>"
MOST_ANSWERS = 500_000  # Over all texts; the longest forward pass has as many logits.


@dataclass(frozen=True, eq=False)
class EnumerableTask:
    """Texts to continue by `length` tokens, V words and the end symbol, and the valid answers.

    A row is a prompt of a trainer: a text and a verifier. Several rows may share a text; a policy cannot
    distinguish them. `base`: table t, (texts, V+1, ..., V+1) with t+1 trailing axes, has the wanted
    probabilities of token t given the earlier tokens. `valid`: (rows, V+1, ..., V+1), one axis per token; the
    end symbol is the last word, and an ended answer stands at the entry padded with it. Raises ValueError for
    shapes that do not fit, more than MOST_ANSWERS answers, or a row whose valid answers have no mass.
    """

    name: str
    words: tuple[str, ...]
    base: tuple[np.ndarray, ...]
    valid: np.ndarray
    texts: tuple[int, ...]  # Index of the text of each row.

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
        """Number of tokens of the model: the words and the end symbol."""
        return len(self.words) + 1

    @property
    def length(self) -> int:
        """Maximal number of tokens of an answer."""
        return len(self.base)

    @property
    def end(self) -> int:
        """Token of the end symbol."""
        return len(self.words)

    def of_rows(self, tables: Any) -> list[np.ndarray]:
        """Tables (rows, V, ..., V) of each row, from tables (texts, V, ..., V); rows may share a text."""
        return [table[list(self.texts)] for table in tables]

    def pass_rates(self, tables: Any) -> np.ndarray:
        """Pass rate of each row under tables of each text, (rows,)."""
        return table_pass_rate(self.of_rows(tables), self.valid, self.end)

    @cached_property
    def prompt_ids(self) -> np.ndarray:
        """Tokens of each text, (texts, prompt tokens): the end symbol, then the text's number in words.

        Without a first token a Llama could not distinguish one word from the same word twice.
        """
        count, digits = len(self.base[0]), 0
        while len(self.words) ** digits < count:
            digits += 1
        powers = len(self.words) ** np.arange(digits)[::-1]
        numbers = np.arange(count)[:, None] // powers % len(self.words)
        return np.concatenate([np.full((count, 1), self.end), numbers], axis=1)

    @property
    def prompts(self) -> list[str]:
        """Text of each row, in words."""
        names = (*self.words, END)
        return [" ".join(names[i] for i in self.prompt_ids[text]) for text in self.texts]

    def tokenizer(self) -> Any:
        """Tokeniser with one token per word; the end symbol also pads."""
        from ...tasks.llama import word_level

        return word_level((*self.words, END), END, pad_token=END, eos_token=END)

    def before_the_end(self, length: int) -> np.ndarray:
        """Mask (V, ..., V) of the prefixes of that length without the end symbol, as 0 and 1."""
        return np.asarray((np.indices((self.vocabulary,) * length) != self.end).all(axis=0), dtype=float)

    def verdicts(self, rows: list[int], completions: list[list[int]]) -> list[float]:
        """Reward, 0 or 1, of each completion (token ids, cut or padded) to the row of that index."""
        answers = np.full((len(rows), self.length), self.end)
        for answer, tokens in zip(answers, completions, strict=True):
            answer[: len(tokens)] = tokens[: self.length]
        return self.valid[(np.array(rows), *answers.T)].astype(float).tolist()


def check_size(texts: int, vocabulary: int, length: int) -> None:
    """Raise ValueError if there are too many answers to enumerate."""
    count = texts * vocabulary**length
    if count > MOST_ANSWERS:
        raise argument_error(
            "answers",
            count,
            f"at most {MOST_ANSWERS:,}: {texts} texts x {vocabulary} tokens ^ {length}; a smaller vocabulary "
            "or a shorter answer",
        )


RARE = 1e-4  # Base mass of an end symbol that no valid answer needs.


def selection(length: int = 2) -> EnumerableTask:
    """Task of two or more words: the last decides correctness, with odds that depend on the others.

    Two tokens: .5 for each first word, then correct with .9 or .1. Entries: `token_penalties`.
    """
    right = {2: np.array([0.9, 0.1]), 3: np.array([[0.9, 0.5], [0.3, 0.1]])}[length]
    base = [_with_end(np.full((1, *[2] * t, 2), 0.5)) for t in range(length - 1)]
    base.append(_with_end(np.stack([right, 1 - right], axis=-1)[None]))
    valid = np.zeros((1, *[3] * length), dtype=bool)
    valid[0][..., 0] = (np.indices((3,) * (length - 1)) != 2).all(axis=0)
    return EnumerableTask(f"selection-{length}", ("a", "b"), tuple(base), valid, (0,))


def dial(seed: int) -> EnumerableTask:
    """Task of four texts, answers of two tokens out of five (one ends answers), random base and verifier."""
    rng = np.random.default_rng([seed, 11])
    base = [_softmax(1.2 * rng.standard_normal((4, *[5] * (t + 1)))) for t in range(2)]
    while True:
        valid = rng.random((4, 5, 5)) < 0.3
        valid[:, 4] = valid[:, 4, -1:]
        if valid.any(axis=(1, 2)).all():
            return EnumerableTask(f"dial-{seed}", ("a", "b", "c", "d"), tuple(base), valid, (0, 1, 2, 3))


def strategies() -> EnumerableTask:
    """Ten rows of one text, of three types (5, 3, 2); an answer is a strategy, then its execution.

    Each type is solved only by its own strategy, executed correctly with .8, and the policy cannot see the
    type: the more mass on the first strategy, the more correct answers, and the fewer types that are ever
    solved. Entries: `falling_pass_at_k`.
    """
    execution = np.array([0.8, 0.2, 0.0])
    base = [_with_end(np.array([[0.4, 0.32, 0.28]])), _with_end(np.broadcast_to(execution, (1, 3, 3)))]
    valid = np.zeros((10, 4, 4), dtype=bool)
    for row, kind in enumerate([0] * 5 + [1] * 3 + [2] * 2):
        valid[row, kind, 0] = True
    return EnumerableTask("strategies", ("a", "b", "c"), tuple(base), valid, (0,) * 10)


def brackets(length: int = 6) -> EnumerableTask:
    """Task of balanced brackets, ended or of the full length; the base opens more often than it closes."""
    base = [
        _with_end(np.broadcast_to([0.58, 0.42], (1, *[2] * t, 2)), 0.0 if t == 0 else 0.15)
        for t in range(length)
    ]
    valid = np.zeros((1, *[3] * length), dtype=bool)
    for answer in itertools.product(range(3), repeat=length):
        valid[(0, *answer)] = _balanced(answer)
    return EnumerableTask(f"brackets-{length}", ("(", ")"), tuple(base), valid, (0,))


def sums(digits: int = 3) -> EnumerableTask:
    """Task of digits that add up to the text's number; the base prefers some digits.

    Three digits of 0 to 3 for 2, 4 and 7; two of 0 to 4 for 3 and 5.
    """
    totals, words = {3: ((2, 4, 7), 4), 2: ((3, 5), 5)}[digits]
    rng = np.random.default_rng(3)
    shape = (len(totals), *[words] * digits)
    base = [_with_end(_softmax(0.8 * rng.standard_normal(shape[: t + 2]))) for t in range(digits)]
    valid = np.zeros((len(totals), *[words + 1] * digits), dtype=bool)
    within = (slice(0, words),) * digits
    for row, total in enumerate(totals):
        valid[row][within] = np.indices((words,) * digits).sum(axis=0) == total
    name = "sums" if digits == 3 else f"sums-{digits}"
    return EnumerableTask(name, tuple("01234"[:words]), tuple(base), valid, tuple(range(len(totals))))


def wide() -> EnumerableTask:
    """Task of one text and two words out of six; about a third of the answers are correct."""
    rng = np.random.default_rng(5)
    base = [_with_end(_softmax(0.8 * rng.standard_normal((1, *[6] * (t + 1))))) for t in range(2)]
    valid = np.zeros((1, 7, 7), dtype=bool)
    valid[:, :6, :6] = rng.random((1, 6, 6)) < 0.35
    return EnumerableTask("wide", tuple("abcdef"), tuple(base), valid, (0,))


_ONE_WORD: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "30": ((0.15,) * 2, (0.14,) * 5),
    "10": ((0.05,) * 2, (0.18,) * 5),
    "four": ((0.075,) * 4, (0.14,) * 5),
    "six": ((0.22, 0.12, 0.06), (0.3, 0.2, 0.1)),
}  # Masses of correct answers, and of incorrect ones.


def one_word(name: str) -> EnumerableTask:
    """Task of one text and one-word answers with masses from _ONE_WORD[name]; the first are correct."""
    right, wrong = _ONE_WORD[name]
    masses = np.array([*right, *wrong])
    valid = np.arange(len(masses) + 1) < len(right)
    words = tuple("abcdefghij"[: len(masses)])
    return EnumerableTask(f"one-word-{name}", words, (_with_end(masses[None]),), valid[None], (0,))


def cut() -> EnumerableTask:
    """Task whose correct answer is word a and the end symbol; with .3 another word follows and is cut off."""
    base = (_with_end(np.array([[0.2, 0.8]])), _with_end(np.full((1, 2, 2), 0.5), 0.7))
    valid = np.zeros((1, 3, 3), dtype=bool)
    valid[0, 0, 2] = True
    return EnumerableTask("cut", ("a", "b"), base, valid, (0,))


TASKS: Mapping[str, Callable[[], EnumerableTask]] = MappingProxyType(
    {
        "selection-2": selection,
        "selection-3": partial(selection, 3),
        **{f"dial-{seed}": partial(dial, seed) for seed in range(3)},
        "strategies": strategies,
        "brackets-4": partial(brackets, 4),
        "brackets-6": brackets,
        "sums-2": partial(sums, 2),
        "sums": sums,
        "wide": wide,
        "cut": cut,
        **{f"one-word-{name}": partial(one_word, name) for name in _ONE_WORD},
    }
)


def enumerable_task(name: str) -> EnumerableTask:
    """Return the task of that name; ValueError for another."""
    choice("task", name, TASKS)
    return TASKS[name]()


def _with_end(table: np.ndarray, mass: float = RARE) -> np.ndarray:
    """Extend a table over words by the end symbol at that mass, and by rows for ended prefixes."""
    mass = max(mass, RARE)
    table = np.concatenate([(1 - mass) * table, np.full((*table.shape[:-1], 1), mass)], axis=-1)
    for axis in range(1, table.ndim - 1):
        # Nothing counts after the end symbol: the rows are copies.
        table = np.concatenate([table, table.take([-1], axis=axis)], axis=axis)
    return np.maximum(table, RARE) / np.maximum(table, RARE).sum(axis=-1, keepdims=True)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


def _balanced(answer: tuple[int, ...]) -> bool:
    depth, symbols = 0, answer[: answer.index(2)] if 2 in answer else answer
    for symbol in symbols:
        depth += 1 if symbol == 0 else -1
        if depth < 0:
            return False
    # After the end symbol only the padding is an answer.
    return depth == 0 and len(symbols) > 0 and all(symbol == 2 for symbol in answer[len(symbols) :])
