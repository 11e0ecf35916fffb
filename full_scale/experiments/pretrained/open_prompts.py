"""Open prompts whose answers are one token, or some digits: a pretrained model's exact probabilities of them.

`Reading.enumerable` makes an EnumerableTask of a model's own next-token tables, where all tokens but the
words are one, its end symbol. Stationary policies treat incorrect answers alike: they lose nothing by that.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dph_theory.support.errors import argument_error, choice

from ..enumerable_tasks.tasks import EnumerableTask
from .packed import next_log_probs, pack

LogProbs = list[Tensor]
"""Entry t: (texts, words, ..., words, vocabulary), t axes of words: of token t given those before it."""


@dataclass(frozen=True)
class OpenPrompts:
    """Texts to continue by one of the words, or by `length` of them, and which continuations are right."""

    name: str
    texts: tuple[str, ...]
    words: tuple[str, ...]
    """As they stand in a text, blank included."""
    right: tuple[frozenset[str], ...]
    """Of each text."""
    length: int = 1


class Reading:
    """One forward pass for the probabilities of several tasks; words of two tokens are no words.

    ValueError for a task of which no word is one token.
    """

    def __init__(self, tokenizer: Any, tasks: Sequence[OpenPrompts]) -> None:
        def ids(text: str) -> list[int]:
            tokens: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
            return tokens

        self.tasks = {task.name: task for task in tasks}
        self.words = {
            task.name: {word: ids(word)[0] for word in task.words if len(ids(word)) == 1} for task in tasks
        }
        for name, words in self.words.items():
            if not words:
                raise argument_error(f"task {name!r} words", self.tasks[name].words, "some of one token")
        # The beginning of a text that the tokenizer would add is the model's own business: SmolLM2 has none.
        first: list[int] = tokenizer("")["input_ids"]
        sequences: list[list[int]] = []
        self._shapes: dict[tuple[str, int], tuple[int, ...]] = {}
        for task in tasks:
            tokens = tuple(self.words[task.name].values())
            for t in range(task.length):
                prefixes = [*itertools.product(tokens, repeat=t)]
                sequences += [[*first, *ids(text), *prefix] for text in task.texts for prefix in prefixes]
                self._shapes[task.name, t] = (len(task.texts), *[len(tokens)] * t)
        self.packed = pack(sequences)

    def log_probs(self, model: Any) -> dict[str, LogProbs]:
        """Of each task, over the whole vocabulary, on the CPU wherever the model is."""
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        parts = next_log_probs(model, self.packed).cpu().split(sizes)
        tables = {
            key: part.unflatten(0, shape)
            for (key, shape), part in zip(self._shapes.items(), parts, strict=True)
        }
        return {name: [tables[name, t] for t in range(task.length)] for name, task in self.tasks.items()}

    def word_ids(self, name: str) -> Int[Tensor, " words"]:
        """The tokens of a task's words."""
        return torch.tensor([*self.words[name].values()])

    def valid(self, name: str) -> Bool[Tensor, "texts ..."]:
        """Which answers of words are right, (texts, words, ..., words)."""
        task, words = self.tasks[name], self.words[name]
        answers = ["".join(answer) for answer in itertools.product(words, repeat=task.length)]
        rows = [[answer in right for answer in answers] for right in task.right]
        return torch.tensor(rows).unflatten(1, (len(words),) * task.length)

    def enumerable(self, name: str, log_probs: LogProbs) -> EnumerableTask:
        """The task with that base; all tokens but the words are its end symbol."""
        tables = [_with_others(table.detach(), self.word_ids(name)) for table in log_probs]
        words, valid = self.words[name], self.valid(name).numpy()
        valid = np.pad(valid, [(0, 0), *[(0, 1)] * (valid.ndim - 1)])
        return EnumerableTask(name, tuple(words), tuple(tables), valid, tuple(range(len(valid))))


def _with_others(table: Tensor, words: Tensor) -> np.ndarray:
    """Probabilities of words and of all else; after all else nothing counts: the rows are copies."""
    chances = table.double().softmax(dim=-1)
    named = chances[..., words]
    other = chances.sum(dim=-1, keepdim=True) - named.sum(dim=-1, keepdim=True)
    lumped = torch.cat([named, other.clamp_min(1e-12)], dim=-1).numpy()
    for axis in range(1, lumped.ndim - 1):
        lumped = np.concatenate([lumped, lumped.take([-1], axis=axis)], axis=axis)
    return np.asarray(lumped / lumped.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class LikeliestTokens:
    """A text of a task and its likeliest next tokens, each with its probability and whether it is right."""

    text: str
    words: tuple[tuple[str, float, bool], ...]


def likeliest_tokens(
    log_probs: LogProbs, tokenizer: Any, task: OpenPrompts, most: int = 5
) -> LikeliestTokens:
    """How a model goes on after the first text of a task, from `Reading.log_probs` of it.

    A word of an answer of several is correct where some correct answer begins with it.
    """
    top, right = log_probs[0][0].exp().topk(most), task.right[0]
    words = [tokenizer.decode(int(token)) for token in top.indices]
    starts = right if task.length == 1 else {answer[: len(word)] for word in words for answer in right}
    shown = zip(words, top.values.tolist(), strict=True)
    return LikeliestTokens(task.texts[0], tuple((word, chance, word in starts) for word, chance in shown))


DIGITS = tuple("0123456789")
_WORDS = {
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "months": "January February March April May June July August September October November December",
    "colours": "red blue green yellow orange purple pink brown black white grey gray violet gold silver",
    "fruits": "apple banana orange grape pear peach mango lemon cherry plum strawberry pineapple kiwi fig",
}
_TEXTS = {
    "weekdays": ("We will meet again next", "The meeting is on"),
    "months": ("She was born in the month of", "The wedding is planned for"),
    "colours": ("My favourite colour is", "The colour of her dress was"),
    "fruits": ("My favourite fruit is the", "For dessert she ate a ripe"),
    "primes": ("He was born in 19", "The house was built in 19"),
    "minutes": ("The train arrives at 10:", "The film starts at 8:"),
}
"""Two phrasings: one that is trained, one that is held out."""
_EXAMPLES = {
    "weekdays": (
        "We met on Monday, not on Friday. We met on Sunday, not on",
        "Open on Monday, closed on Friday. Open on Sunday, closed on",
    ),
    "months": (
        "It was built between March and June, and opened in",
        "He was born in March. She was born in June. They were born in",
    ),
    "rain": ("She was born in the month of", "The months with the most rain are June and"),
    "colours": ("My car is red, yours is blue and hers is", "The flag is red, white and"),
}
"""The same kinds with examples before them, which the base nearly solves, in many ways."""
_LAST = "The last digit of 7*8 is 6.\nThe last digit of 3*9 is 7.\nThe last digit of {}*{} is "
_TWO_LAST = "".join(
    f"The last two digits of {product}" for product in ("17*28 are 76.\n", "53*19 are 07.\n", "{}*{} are ")
)
_PRODUCTS = "7*8=56\n3*9=27\n{}*{}="
_SUMS = ("3+1=4\n2+6=8\n{}+{}=", "2 plus 6 is 8, and {} plus {} is ")


def _words(kind: str) -> tuple[str, ...]:
    return tuple(f" {word}" for word in _WORDS["months" if kind in ("rain", "summer") else kind].split())


def _of_words(name: str, kind: str, texts: Sequence[str], right: Sequence[str] = ()) -> OpenPrompts:
    words = _words(kind)
    return OpenPrompts(name, tuple(texts), words, (frozenset(right or words),) * len(texts))


def _of_numbers(name: str, kind: str, texts: Sequence[str]) -> OpenPrompts:
    primes = {n for n in range(2, 100) if all(n % k for k in range(2, n))}
    right = frozenset(f"{n:02}" for n in (primes if kind == "primes" else range(0, 60, 5)))
    return OpenPrompts(name, tuple(texts), DIGITS, (right,) * len(texts), 2)


def _calculated(
    name: str,
    pattern: str,
    pairs: Sequence[tuple[int, int]],
    rule: Callable[[int, int], int],
    length: int = 1,
) -> OpenPrompts:
    right = tuple(frozenset({f"{rule(a, b):0{length}}"}) for a, b in pairs)
    return OpenPrompts(name, tuple(pattern.format(*pair) for pair in pairs), DIGITS, right, length)


def _last_digit(a: int, b: int) -> int:
    return a * b % 10


def _last_two_digits(a: int, b: int) -> int:
    return a * b % 100


def _all_tasks() -> dict[str, OpenPrompts]:
    """Each kind's trained half under its name, its held-out half under the name with `, held out`."""
    tasks = []
    shuffled = np.random.default_rng(1).permutation([*itertools.product(range(2, 10), repeat=2)]).tolist()
    # Without those that the examples answer.
    pairs = [(a, b) for a, b in shuffled if (a, b) not in ((7, 8), (3, 9))]
    sums = [(a, b) for a, b in pairs if a + b <= 9 and (a, b) != (2, 6)]
    long = [(a, b) for a, b in pairs if a * b >= 10]
    # Of one digit and one number of two, each once.
    draw = np.random.default_rng(2)
    columns = draw.integers(2, 10, 300).tolist(), draw.integers(11, 100, 300).tolist()
    wide = [*dict.fromkeys(zip(*columns, strict=True))]
    every = [(a, b) for a, b in draw.permutation([*itertools.product(range(2, 10), range(11, 100))]).tolist()]
    of_two = [(a, b) for a, b in draw.permutation([*itertools.product(range(11, 60), range(2, 10))]).tolist()]
    for place, half in enumerate(("", ", held out")):
        for kind, texts in _TEXTS.items():
            make = _of_numbers if kind in ("primes", "minutes") else _of_words
            tasks.append(make(kind + half, kind, texts[place : place + 1]))
        for kind, texts in _EXAMPLES.items():
            tasks.append(_of_words(f"{kind} by example{half}", kind, texts[place : place + 1]))
        tasks.append(_calculated(f"last digits{half}", _LAST, pairs[place:48:2], _last_digit))
        tasks.append(_calculated(f"wide last digits{half}", _LAST, wide[place::2], _last_digit))
        tasks.append(_calculated(f"all last digits{half}", _LAST, every[place::2], _last_digit))
        two = of_two[place:48:2]
        tasks.append(_calculated(f"last two digits{half}", _TWO_LAST, two, _last_two_digits, 2))
        tasks.append(_calculated(f"sums{half}", _SUMS[0], sums[place::2], add))
        tasks.append(_calculated(f"products{half}", _PRODUCTS, long[place::2], mul, 2))
    tasks.append(_calculated("sums in words", _SUMS[1], sums, add))
    summer = (" June", " July", " August")
    tasks.append(_of_words("summer", "summer", _TEXTS["months"][:1], summer))
    return {task.name: task for task in tasks}


TASKS: Mapping[str, OpenPrompts] = MappingProxyType(_all_tasks())


def open_prompts(name: str) -> OpenPrompts:
    """The task of that name. Raises ValueError for another."""
    choice("task", name, TASKS)
    return TASKS[name]
