"""A user's own problem, from arguments or a file: a bigram base and the set of valid words."""

import runpy
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic.dataclasses import dataclass

from dph_theory.numeric.arrays import distribution
from dph_theory.support.checking import CHECKED, build
from dph_theory.support.errors import argument_error
from dph_theory.support.user_code import blamed

from ..engine.automaton import ValidityAutomaton
from ..engine.builders import from_predicate, from_regex
from ..engine.markov import MarkovLM
from .problem import CollapseProblem


def problem(
    alphabet: str,
    *,
    initial: Float[np.ndarray, " V"] | Sequence[float],
    transition: Float[np.ndarray, "V V"] | Sequence[Sequence[float]],
    valid: str | Callable[[str], bool] | ValidityAutomaton,
    length: int,
    name: str = "problem",
) -> CollapseProblem:
    """Build a problem: a bigram base over single characters, and the valid words of one length.

    initial is the first symbol's distribution, row s of transition that of the symbol after s; all
    entries are above 0, because logits cannot express a zero. valid is a regular expression (as in
    `from_regex`), a function of the text, or an automaton. Raises ValueError naming the bad argument,
    also if no word is valid, or every word.
    """
    V = len(alphabet)
    tables = (_positive("initial", initial, (V,)), _positive("transition", transition, (V, V)))
    if isinstance(valid, str):
        valid = from_regex(valid, alphabet)
    elif not isinstance(valid, ValidityAutomaton):
        valid = from_predicate(valid, alphabet, length)
    return CollapseProblem(name, MarkovLM(*(table[None] for table in tables)), valid, length)


def _positive(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    try:
        own_shape = np.shape(value)
    except ValueError:  # Rows of different lengths.
        own_shape = None
    if own_shape != shape:
        raise argument_error(name, value, f"probabilities of shape {shape}: one for each symbol in a row")
    table = distribution(name, value)
    if not (table > 0).all():
        raise argument_error(name, value, "every probability above 0")
    return table


@dataclass(frozen=True, kw_only=True, config=CHECKED)
class ProblemFile:
    """Keys of a problem file, those of `problem`; valid words are given by a `pattern` or a `function`."""

    name: str = "problem"
    alphabet: str
    length: int
    initial: tuple[float, ...]
    transition: tuple[tuple[float, ...], ...]
    pattern: str | None = None  # A regular expression for whole words.
    # FILE.py:NAME, a Python function of a text; the path is relative to the problem file.
    function: str | None = None


def read_problem(path: Path) -> CollapseProblem:
    """Read the problem of a TOML file with the keys of `ProblemFile`.

    Raises ValueError that names the file, the key and its value. A function's file is executed; its errors
    are reported with their line.
    """
    try:
        keys = build(ProblemFile, tomllib.loads(path.read_text(encoding="utf-8")), "")
        fields = asdict(keys)
        pattern, function = fields.pop("pattern"), fields.pop("function")
        if (pattern is None) == (function is None):
            allowed = "one of them, which says what is valid"
            raise argument_error("(pattern, function)", (pattern, function), allowed)
        return problem(valid=_function(function, path.parent) if pattern is None else pattern, **fields)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _function(place: str | None, folder: Path) -> Callable[[str], bool]:
    """Load the function at FILE.py:NAME; its errors name file and line."""
    file, _, name = (place or "").partition(":")
    if not name or not (folder / file).is_file():
        raise argument_error("function", place, f"FILE.py:NAME, the file in {folder}")
    try:
        function = runpy.run_path(str(folder / file)).get(name)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{file} could not be run: {blamed(error, folder / file)}") from error
    if not callable(function):
        raise argument_error("function", place, f"the name of a function in {file}")

    def valid(text: str) -> bool:
        try:
            return bool(function(text))
        except (Exception, SystemExit) as error:
            why = blamed(error, folder / file)
            raise ValueError(f"function={place!r} failed on {text!r}: {why}") from error

    return valid
