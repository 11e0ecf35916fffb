"""Computes what a statement of the kernel says at numbers, by the definitions that Coq reads.

Reals are balls (complex ones under a derivative), natural numbers are ints, truth values are bools, and
functions take one argument at a time. As Coq is typed, an operation with an int is one of natural numbers.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flint import acb, arb

from .grammar import Term

SAME = 1e-9
"""The relative error up to which two reals count as equal."""
STEP = arb(2) ** -2000
"""The imaginary step of a derivative: its square is far below what is looked at."""


class UndecidedError(ValueError):
    """What cannot be computed at numbers, such as a statement about every real."""


@dataclass(frozen=True)
class Atom:
    """A relation between two numbers that a statement says."""

    left: arb
    sign: str
    right: arb

    @property
    def true(self) -> bool:
        """Whether it holds, up to rounding."""
        near = close(float(self.left), float(self.right))
        return {
            "=": near,
            "<>": not near,
            "<=": near or self.left <= self.right,
            "<": self.left < self.right,
            ">=": near or self.left >= self.right,
            ">": self.left > self.right,
        }[self.sign]


def close(left: float, right: float) -> bool:
    """Whether two numbers are equal up to rounding, absolutely below one."""
    return left == right or abs(left - right) <= SAME * max(1.0, abs(left), abs(right))


def _ln(x: arb | acb) -> arb | acb:
    """Coq's logarithm, which is 0 where there is none."""
    return x.log() if isinstance(x, acb) or x > 0 else arb(0)


def _inverse(x: arb | acb) -> arb | acb:
    """Coq's inverse, which is 0 at 0."""
    if x == 0:
        return arb(0)
    if not x != 0:
        raise UndecidedError("an inverse of what may be zero")
    return 1 / x


def _choose(n: int, k: int) -> arb:
    """Coq's quotient of factorials, which is not 0 for k > n."""
    return arb(math.factorial(n)) / (math.factorial(k) * math.factorial(max(n - k, 0)))


def _slope(function: Callable[[Any], Any], place: arb) -> arb:
    """The derivative of an analytic function, by a complex step."""
    return acb(function(acb(place, STEP))).imag / STEP


def _natural(x: Any) -> int:
    return x if isinstance(x, int) else int(float(x))


_BUILT_IN: Mapping[str, Any] = {
    "true": True, "false": False, "O": 0,
    "ln": _ln, "exp": lambda x: x.exp(), "sqrt": lambda x: x.sqrt(), "Rabs": abs, "Rsqr": lambda x: x * x,
    "Rmax": lambda x: lambda y: max(x, y), "Rmin": lambda x: lambda y: min(x, y),
    "INR": arb, "S": lambda n: _natural(n) + 1, "negb": lambda b: not b,
    "andb": lambda a: lambda b: a and b, "orb": lambda a: lambda b: a or b,
    "length": len, "seq": lambda start: lambda count: [_natural(start) + k for k in range(_natural(count))],
    "map": lambda f: lambda xs: [f(x) for x in xs],
    "filter": lambda f: lambda xs: [x for x in xs if f(x)],
    "Binomial.C": lambda n: lambda k: _choose(_natural(n), _natural(k)),
    "Nat.eqb": lambda n: lambda m: _natural(n) == _natural(m),
    "Nat.ltb": lambda n: lambda m: _natural(n) < _natural(m),
    "nth": lambda n: lambda xs: lambda default: xs[n] if n < len(xs) else default,
    "flat_map": lambda f: lambda xs: [y for x in xs for y in f(x)],
    "existsb": lambda f: lambda xs: any(f(x) for x in xs),
    "Rlt_dec": lambda x: lambda y: bool(x < y),
    "Derive": lambda f: lambda x: _slope(f, x),
    "fst": lambda pair: pair[0], "snd": lambda pair: pair[1],
}  # fmt: skip
"""What Coq's libraries define, with the arguments one at a time."""


@dataclass(frozen=True)
class Evaluator:
    """Computes terms by definitions: the arguments and the body of each, by name."""

    definitions: Mapping[str, tuple[tuple[str, ...], Term]]

    def value(self, term: Term, env: Mapping[str, Any]) -> Any:
        """What a term is where names mean what `env` says; UndecidedError if that cannot be computed."""
        found = _CONSTRUCTS.get(term[0])
        return self.true(term, env) if found is None else found(self, term, env)

    def _items(self, term: Term, env: Mapping[str, Any]) -> Any:
        items = [self.value(item, env) for item in term[1]]
        return items if term[0] == "list" else tuple(items)

    def _conditional(self, term: Term, env: Mapping[str, Any]) -> Any:
        return self.value(term[2] if self.value(term[1], env) else term[3], env)

    def _local(self, term: Term, env: Mapping[str, Any]) -> Any:
        return self.value(term[3], {**env, term[1]: self.value(term[2], env)})

    def _prefixed(self, term: Term, env: Mapping[str, Any]) -> Any:
        inner = self.value(term[2], env)
        return -inner if term[1] == "-" else _inverse(inner)

    def _named(self, term: Term, env: Mapping[str, Any]) -> Any:
        name = term[1]
        if name in env:
            return env[name]
        if name in self.definitions:
            arguments, body = self.definitions[name]
            return self._function(arguments, body, {})
        if name in _BUILT_IN:
            return _BUILT_IN[name]
        raise UndecidedError(f"{name} is not defined")

    def _function(self, names: Sequence[str], body: Term, env: Mapping[str, Any]) -> Any:
        if not names:
            return self.value(body, env)
        first, rest = names[0], names[1:]
        return lambda x: self._function(rest, body, {**env, first: x})

    def _applied(self, term: Term, env: Mapping[str, Any]) -> Any:
        head, arguments = _head(term)
        if head in (("name", "is_derive"), ("name", "In")):
            return self.true(term, env)
        found = self.value(head, env)
        for argument in arguments:
            found = found(self.value(argument, env))
        return found

    def _matched(self, term: Term, env: Mapping[str, Any]) -> Any:
        values = [self.value(value, env) for value in term[1]]
        for patterns, body in term[2]:
            bound = dict(env)
            if all(_fits(pattern, value, bound) for pattern, value in zip(patterns, values, strict=True)):
                return self.value(body, bound)
        raise UndecidedError("no case of a match fits")

    def _operation(self, term: Term, env: Mapping[str, Any]) -> Any:
        _, sign, left_term, right_term = term
        if sign in ("/\\", "\\/", "->", "<->", "=", "<", "<=", ">", ">=", "<>"):
            return self.true(term, env)
        left, right = self.value(left_term, env), self.value(right_term, env)
        if sign == "::":
            return [left, *right]
        if sign == "++":
            return [*left, *right]
        if sign == "^":
            return left ** _natural(right)
        if type(left) is int or type(right) is int:  # Natural numbers: 2 - 3 is 0.
            left, right = _natural(left), _natural(right)
            return {"+": left + right, "-": max(left - right, 0), "*": left * right}[sign]
        if sign == "/":
            return left * _inverse(right)
        return {"+": left + right, "-": left - right, "*": left * right}[sign]

    def true(self, term: Term, env: Mapping[str, Any]) -> bool:
        """Whether a statement holds; UndecidedError where that takes more than finitely many numbers."""
        if term[0] == "infix" and term[1] in ("\\/", "->", "<->"):
            left = self.true(term[2], env)
            if term[1] == "->" and not left:
                return True
            right = self.true(term[3], env)
            return {"\\/": left or right, "->": right, "<->": left == right}[term[1]]
        return all(atom if isinstance(atom, bool) else atom.true for atom in self.atoms(term, env))

    def atoms(self, term: Term, env: Mapping[str, Any]) -> Iterator[Atom | bool]:
        """What a statement says in order: its relations between numbers, and the truth of all else."""
        kind = term[0]
        if kind == "infix" and term[1] == "/\\":
            yield from self.atoms(term[2], env)
            yield from self.atoms(term[3], env)
        elif kind == "infix" and term[1] in ("=", "<", "<=", ">", ">=", "<>"):
            left, right = self.value(term[2], env), self.value(term[3], env)
            if callable(left) or callable(right):
                raise UndecidedError("functions are not compared")
            numbers = [arb(x) for x in (left, right) if isinstance(x, arb | int) and not isinstance(x, bool)]
            yield (
                Atom(numbers[0], term[1], numbers[1])
                if len(numbers) == 2
                else (left == right) == (term[1] == "=")
            )
        elif kind == "infix":
            yield self.true(term, env)
        elif kind == "forall":
            for bound in self._bounded(term, env):
                yield from self.atoms(bound[0], bound[1])
        else:
            yield from self._predicate(term, env)

    def _bounded(self, term: Term, env: Mapping[str, Any]) -> Iterator[tuple[Term, Mapping[str, Any]]]:
        """The cases of `forall y, In y ys -> ...`."""
        _, names, body = term
        for name in names:
            if body[:2] != ("infix", "->") or body[2][:2] != (
                "apply",
                ("apply", ("name", "In"), ("name", name)),
            ):
                raise UndecidedError(f"a statement about every {name}")
        if len(names) != 1:
            raise UndecidedError("a statement about every pair")
        for item in self.value(body[2][2], env):
            yield body[3], {**env, names[0]: item}

    def _predicate(self, term: Term, env: Mapping[str, Any]) -> Iterator[Atom | bool]:
        """A defined predicate, unfolded, or a derivative compared."""
        head, arguments = _head(term)
        if head == ("name", "is_derive"):
            function, place, slope = (self.value(argument, env) for argument in arguments)
            yield Atom(_slope(function, place), "=", slope)
        elif head == ("name", "In"):
            yield self.value(arguments[0], env) in self.value(arguments[1], env)
        elif head == ("name", "True"):
            yield True
        elif head[0] == "name" and head[1] in self.definitions and head[1] not in env:
            names, body = self.definitions[head[1]]
            inner = {name: self.value(argument, env) for name, argument in zip(names, arguments, strict=True)}
            yield from self.atoms(body, inner)
        else:
            found = self.value(term, env)
            yield bool(found)


_CONSTRUCTS: Mapping[str, Callable[[Evaluator, Term, Mapping[str, Any]], Any]] = {
    "number": lambda self, term, env: term[1] if isinstance(term[1], int) else arb(term[1]),
    "name": Evaluator._named,
    "list": Evaluator._items,
    "tuple": Evaluator._items,
    "fun": lambda self, term, env: self._function(term[1], term[2], env),
    "if": Evaluator._conditional,
    "let": Evaluator._local,
    "match": Evaluator._matched,
    "prefix": Evaluator._prefixed,
    "apply": Evaluator._applied,
    "infix": Evaluator._operation,
}


def _head(term: Term) -> tuple[Term, list[Term]]:
    """What is applied, and to what."""
    arguments: list[Term] = []
    while term[0] == "apply":
        term, arguments = term[1], [term[2], *arguments]
    return term, arguments


def _fits(pattern: Term, value: Any, bound: dict[str, Any]) -> bool:
    """Whether a value has the form of a pattern, whose names are then bound."""
    if pattern[0] == "list":
        return not pattern[1] and value == []
    if pattern[0] == "infix":
        return bool(value) and _fits(pattern[2], value[0], bound) and _fits(pattern[3], value[1:], bound)
    if pattern[0] == "apply":  # S n
        return value > 0 and _fits(pattern[2], value - 1, bound)
    if pattern == ("name", "O"):
        return bool(value == 0)
    if pattern[0] == "name" and pattern[1] in ("true", "false"):
        return value is (pattern[1] == "true")
    if pattern[1] != "_":
        bound[pattern[1]] = value
    return True
