"""Open prompts whose answers are one token, or a few digits, by name."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul
from types import MappingProxyType

import numpy as np

from dph_theory.support.errors import choice

SOLVED = 0.6
"""Base pass rate from which a trained prompt is rehearsed (D_pef), else it is explored."""
STORED = 64  # Stored correct answers per rehearsed prompt.


@dataclass(frozen=True)
class OpenPrompts:
    """Texts to continue by one of the words, or by `length` of them, and the correct continuations."""

    name: str
    texts: tuple[str, ...]
    words: tuple[str, ...]  # As written in a text, blank included.
    right: tuple[frozenset[str], ...]  # Correct continuations of each text.
    length: int = 1


ROWS = 10
"""Prompts that share a text and differ in the hidden set of correct words."""
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
}  # Two phrasings, one trained, one held out.
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
"""Texts of these kinds after examples; the base nearly solves them, in many ways."""
_LAST = "The last digit of 7*8 is 6.\nThe last digit of 3*9 is 7.\nThe last digit of {}*{} is "
_PRODUCTS = "7*8=56\n3*9=27\n{}*{}="
_SUMS = ("3+1=4\n2+6=8\n{}+{}=", "2 plus 6 is 8, and {} plus {} is ")


def _words(kind: str) -> tuple[str, ...]:
    return tuple(f" {word}" for word in _WORDS["months" if kind in ("rain", "summer") else kind].split())


def _of_words(name: str, kind: str, texts: Sequence[str], right: Sequence[str] = ()) -> OpenPrompts:
    words = _words(kind)
    return OpenPrompts(name, tuple(texts), words, (frozenset(right or words),) * len(texts))


def _hidden_words(half: str, texts: Sequence[tuple[str, str]], seed: int) -> OpenPrompts:
    """Task in which each text occurs ROWS times, each time with another hidden set of correct words."""
    kinds = [*dict.fromkeys(kind for kind, _ in texts)]
    words = [*dict.fromkeys(word for kind in kinds for word in _words(kind))]
    # A word is correct as often on held-out texts as on trained ones.
    merits = dict(zip(words, np.random.default_rng(5).uniform(0.25, 0.75, len(words)).tolist(), strict=True))
    rng = np.random.default_rng(seed)
    right = [
        frozenset(word for word in _words(kind) if rng.random() < merits[word])
        for kind, _ in texts
        for _ in range(ROWS)
    ]
    repeated = tuple(text for _, text in texts for _ in range(ROWS))
    return OpenPrompts(f"hidden words{half}", repeated, tuple(words), tuple(right))


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


def _all_tasks() -> dict[str, OpenPrompts]:
    """Trained half of each kind under its name, held-out half under the name with `, held out`."""
    tasks = []
    shuffled = np.random.default_rng(1).permutation([*itertools.product(range(2, 10), repeat=2)]).tolist()
    # Without the words that the examples give as answers.
    pairs = [(a, b) for a, b in shuffled if (a, b) not in ((7, 8), (3, 9))]
    sums = [(a, b) for a, b in pairs if a + b <= 9 and (a, b) != (2, 6)]
    long = [(a, b) for a, b in pairs if a * b >= 10]
    # Products of a one-digit and a two-digit number, each once.
    draw = np.random.default_rng(2)
    columns = draw.integers(2, 10, 300).tolist(), draw.integers(11, 100, 300).tolist()
    wide = [*dict.fromkeys(zip(*columns, strict=True))]
    every = [(a, b) for a, b in draw.permutation([*itertools.product(range(2, 10), range(11, 100))]).tolist()]
    for place, half in enumerate(("", ", held out")):
        for kind, texts in _TEXTS.items():
            make = _of_numbers if kind in ("primes", "minutes") else _of_words
            tasks.append(make(kind + half, kind, texts[place : place + 1]))
        for kind, texts in _EXAMPLES.items():
            tasks.append(_of_words(f"{kind} by example{half}", kind, texts[place : place + 1]))
        shared = [(kind, texts[place]) for kind, texts in _EXAMPLES.items()]
        tasks.append(_hidden_words(half, shared, seed=6 + place))
        tasks.append(_calculated(f"last digits{half}", _LAST, pairs[place:48:2], _last_digit))
        tasks.append(_calculated(f"wide last digits{half}", _LAST, wide[place::2], _last_digit))
        tasks.append(_calculated(f"all last digits{half}", _LAST, every[place::2], _last_digit))
        tasks.append(_calculated(f"sums{half}", _SUMS[0], sums[place::2], add))
        tasks.append(_calculated(f"products{half}", _PRODUCTS, long[place::2], mul, 2))
    tasks.append(_calculated("sums in words", _SUMS[1], sums, add))
    summer = (" June", " July", " August")
    tasks.append(_of_words("summer", "summer", _TEXTS["months"][:1], summer))
    return {task.name: task for task in tasks}


TASKS: Mapping[str, OpenPrompts] = MappingProxyType(_all_tasks())


def open_prompts(name: str) -> OpenPrompts:
    """Return the task of that name; ValueError for another."""
    choice("task", name, TASKS)
    return TASKS[name]
