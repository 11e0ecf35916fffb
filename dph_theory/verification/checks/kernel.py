"""The kernel check: the theorem in Coq says what the entry's two sides do, and Coq accepted these files."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from flint import arb

from ...kernel import coq, files
from ...kernel.evaluation import Atom, Evaluator, UndecidedError, close
from ...kernel.grammar import Term
from ...numeric.balls import precision
from ...statement.charts import Instance, OutsideDomainError, as_balls, as_floats
from ...statement.theorem import Kernel, Relation, Theorem, Verdict
from .certified import rational_instances
from .result import CheckResult
from .witness import witnesses

BITS = 3072
"""The precision in which the theorem is computed: a rate may be within 1e-400 of one."""
COMPARED_AT = 4
"""Random instances, beside the examples, at which the theorem is compared with the statement's sides."""


class NarrowerError(ValueError):
    """A theorem of the kernel that does not speak of an instance of the statement."""


def kernel(theorem: Theorem, *, seed: int = 0) -> CheckResult:
    """PROVED if the kernel's theorem is all of the statement, HOLDS if it is a part of it or of a neighbour.

    REFUTED if it is the negation of a statement that is false. UNDECIDED if Coq has not accepted these files,
    if the theorem rests on more than the classical reals, or if what it says differs from the statement.
    """
    if not theorem.kernels:
        return CheckResult("kernel", Verdict.UNDECIDED, 0, detail="no theorem of the kernel is named")
    failed, number = [], 0
    for statement, places in _compared(theorem, seed):
        named = statement.kernels[0]
        found = [differs(statement, named, place) for place in places]
        compared = [words for words in found if words is not None]
        failed += [*unaccepted(named.theorem), *dict.fromkeys(filter(None, compared))]
        failed += [] if compared else [f"{named.theorem} was compared nowhere"]
        number += len(compared)
    own = Verdict.HOLDS if theorem.kernel is None or theorem.kernel.part else Verdict.PROVED
    verdict = Verdict.REFUTED if theorem.expected is Verdict.REFUTED else own
    return CheckResult(
        "kernel", Verdict.UNDECIDED if failed else verdict, number, seed=seed, detail="; ".join(failed)
    )


def _compared(theorem: Theorem, seed: int) -> Iterator[tuple[Theorem, list[Instance]]]:
    """The statement and the false neighbours that have a theorem, each with where it is compared with them.

    The theorem on a false statement speaks of its counterexample.
    """
    if theorem.kernel is not None:
        false = theorem.expected is Verdict.REFUTED
        places = [*rational_instances(theorem, 0 if false else COMPARED_AT, seed)]
        yield replace(theorem, false_neighbours=()), places[:1] if false else places
    for neighbour in theorem.false_neighbours:
        if neighbour.kernel is not None:
            statement = replace(theorem.changed(neighbour), false_neighbours=())
            yield statement, [next(witnesses(theorem, neighbour))]


@cache
def unaccepted(name: str) -> tuple[str, ...]:
    """Why a theorem is not one that Coq has accepted on the classical reals alone; nothing if it is."""
    record = coq.recorded()
    if record.files != files.hashes():
        return ("the record is of other files: run docs/generate.py where Coq is",)
    if name not in record.theorems:
        return (f"the record does not have {name}",)
    beyond = ", ".join(record.beyond_the_reals)
    return (f"the record has axioms besides those of the reals: {beyond}",) if beyond else ()


def differs(theorem: Theorem, kernel: Kernel, instance: Instance) -> str | None:
    """How the kernel's theorem differs from the statement at an instance; "" where it does not.

    All hypotheses that can be computed must hold there, so that the theorem speaks of the instance. None
    where it does not, for an instance outside the statement's domain or outside the part that it proves.
    """
    try:
        lhs, rhs = (np.ravel(side[0]) for side in theorem.sides(as_floats(instance)))
        with precision(BITS):
            said = _said(theorem, kernel, instance, len(lhs))
    except OutsideDomainError:
        return None
    except NarrowerError as reason:
        return None if kernel.part else f"{kernel.theorem}: {reason}"
    except UndecidedError as reason:
        return f"{kernel.theorem}: {reason}"
    pairs = [(float(left), float(right)) for left, right in zip(lhs, rhs, strict=True)]
    if theorem.expected is Verdict.REFUTED:  # Some component is where the statement fails.
        same = all(any(_denies(theorem, atom, *pair) for pair in pairs) for atom in said)
    else:
        same = all(_says(theorem, atom, *pair) for atom, pair in zip(said, pairs, strict=True))
    words = (f"{float(atom.left)} {atom.sign} {float(atom.right)}" for atom in said)
    return "" if same else f"{kernel.theorem} says {', '.join(words)} where the sides are {pairs}"


def _says(theorem: Theorem, atom: Atom, left: float, right: float) -> bool:
    """Whether a relation of the theorem is that of the statement: equal sides, or for a bound equal gaps."""
    if theorem.relation is Relation.EQUAL:
        return atom.sign == "=" and close(float(atom.left), left) and close(float(atom.right), right)
    return atom.sign in ("<", "<=") and close(float(atom.right - atom.left), right - left)


def _denies(theorem: Theorem, atom: Atom, left: float, right: float) -> bool:
    """Whether a relation of the theorem is the negation of the statement: sides that differ, rhs < lhs."""
    if theorem.relation is Relation.EQUAL:
        return atom.sign == "<>" and close(float(atom.left), left) and close(float(atom.right), right)
    return atom.sign == "<" and close(float(atom.right - atom.left), left - right)


def _said(theorem: Theorem, kernel: Kernel, instance: Instance, components: int) -> list[Atom]:
    """The relations that are the statement's components, in order; UndecidedError if they are not.

    Of the negation of a statement one relation is enough.
    """
    given = bindings(theorem, kernel, instance)
    wanted = 1 if theorem.expected is Verdict.REFUTED else components // len(given)
    said: list[Atom] = []
    for values in given:
        found = [*_conclusions(*_concluded(kernel.theorem, values))]
        relations = [part for part in found if isinstance(part, Atom)]
        if len(relations) < wanted:
            raise UndecidedError(f"{len(relations)} relations for {wanted} components")
        if wrong := [part for part in found if not (part if isinstance(part, bool) else part.true)]:
            raise UndecidedError(f"it is read as false, at {wrong[0]}")
        said += relations[:wanted]
    return said


def _concluded(name: str, values: Mapping[str, Any]) -> tuple[Term, Mapping[str, Any]]:
    """The conclusion of a theorem at values of its variables.

    The hypotheses must hold there, as far as they can be computed; that a function is convex cannot.
    """
    term = files.statement(name).term
    env: dict[str, Any] = {}
    while term[0] == "forall":
        env |= {variable: values[variable] for variable in term[1] if variable in values}
        term = term[2]
    while term[:2] == ("infix", "->"):
        with suppress(UndecidedError):
            if not _evaluator().true(term[2], env):
                raise NarrowerError(f"it asks for more than the statement: {term[2]}")
        term = term[3]
    return term, env


def _conclusions(term: Term, env: Mapping[str, Any]) -> Iterator[Atom | bool]:
    """What the conclusion says, without what only a proof can say, such as that of every other law."""
    while term[0] == "let":
        env, term = {**env, term[1]: _evaluator().value(term[2], env)}, term[3]
    if term[:2] == ("infix", "/\\"):
        yield from _conclusions(term[2], env)
        yield from _conclusions(term[3], env)
    else:
        try:
            yield from list(_evaluator().atoms(term, env))
        except UndecidedError:
            return


@cache
def _evaluator() -> Evaluator:
    """The reader of the kernel's definitions."""
    return Evaluator(files.definitions())


def bindings(theorem: Theorem, kernel: Kernel, instance: Instance) -> list[Mapping[str, Any]]:
    """The variables of the kernel's theorem at an instance, once or once for each component."""
    parts = {
        name: [table[0] for table in value] if isinstance(value, list) else value[0]
        for name, value in theorem.instances.completed(as_floats(instance)).items()
        if isinstance(value, list | np.ndarray)
    }
    exact = {name: value[0] for name, value in as_balls(instance).items() if instance[name].dtype == object}
    own = {name: _as_variable(part) for name, part in {**parts, **exact}.items()}
    sizes = [len(part) for part in parts.values() if isinstance(part, np.ndarray) and part.ndim == 1]
    own["ys"] = list(range(sizes[0])) if sizes else []
    if kernel.where is None:
        return [own]
    given = kernel.where(**{name: parts[name] for name in signature(kernel.where).parameters})
    several = [given] if isinstance(given, Mapping) else given
    return [{**own, **{n: _as_variable(v) for n, v in values.items()}} for values in several]


def _as_variable(part: Any) -> Any:
    """A number, a natural number, a truth value; a vector as the function of its places."""
    if isinstance(part, np.ndarray) and part.ndim == 1:
        values = [_as_variable(value) for value in part]
        return lambda place: values[place]
    if callable(part):
        return lambda x: _as_variable(part(float(x) if isinstance(x, arb) else x))
    plain = part.item() if isinstance(part, np.ndarray | np.generic) and part.ndim == 0 else part
    return arb(plain) if isinstance(plain, float) else plain
