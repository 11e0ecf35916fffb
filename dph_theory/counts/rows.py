"""One row of counts, checked: how often a prompt was answered correctly, and what else is known of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..support.errors import argument_error

_PLAIN = {"id", "n", "c"}


@dataclass(frozen=True)
class Row:
    """A prompt by id: n answers, c of them correct.

    `kl` is the mean of log pi - log ref over the answers, `kl_correct` that mean with the incorrect ones
    counted as zero; `styles` how many answers have each style; `ks` the k at which Pass@k is asked for.
    """

    id: str | int
    n: int
    c: int
    kl: float | None = None
    kl_correct: float | None = None
    styles: Mapping[str, int] | None = None
    ks: tuple[int, ...] | None = None


def row(value: Any) -> Row:
    """The row of a mapping {"id", "n", "c"} with optional "correct", "kl", "log_ratio", "style", "k".

    "correct" lists the verdict of each answer (0 or 1) and may stand in place of n and c; "log_ratio" lists
    log pi - log ref of each answer in the same order, or "kl" holds their mean; "style" maps names to
    counts; "k" lists whole numbers. Fields that are null count as absent.
    Raises ValueError naming the field that is missing or is something else.
    """
    if not isinstance(value, Mapping):
        raise argument_error("row", value, "an object with id, n and c")
    if value.keys() == _PLAIN and None not in value.values():
        return Row(_id(value["id"]), *_counts(value["n"], value["c"]))
    value = {name: entry for name, entry in value.items() if entry is not None}
    verdicts = _verdicts(value.get("correct"))
    if verdicts is not None:
        value = {"n": len(verdicts), "c": sum(verdicts), **value}
    missing = [name for name in ("id", "n", "c") if name not in value]
    if missing:
        raise argument_error("row", sorted(value), f"needs {', '.join(missing)}")
    n, c = _counts(value["n"], value["c"])
    if verdicts is not None and (len(verdicts), sum(verdicts)) != (n, c):
        raise argument_error(
            "correct", f"{sum(verdicts)} of {len(verdicts)}", f"must agree with c={c}, n={n}"
        )
    ks = value.get("k")
    return Row(
        _id(value["id"]),
        n,
        c,
        *_kl(value, n, verdicts),
        styles=_styles(value.get("style"), n),
        ks=None if ks is None else tuple(sorted({_whole("k", k, least=1) for k in _list("k", ks)})),
    )


def _counts(n: Any, c: Any) -> tuple[int, int]:
    n, c = _whole("n", n), _whole("c", c)
    if n < 1:
        raise argument_error("n", n, "at least one answer")
    if c > n:
        raise argument_error("c", c, f"at most n = {n}")
    return n, c


def _id(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise argument_error("id", value, "a whole number or a text that is not empty")
    return value


def _whole(name: str, value: Any, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise argument_error(name, value, f"a whole number, at least {least}")
    return value


def _list(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise argument_error(name, value, "a list")
    return value


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise argument_error(name, value, "a finite number")
    return float(value)


def _verdicts(value: Any) -> list[int] | None:
    if value is None:
        return None
    found = [entry for entry in _list("correct", value) if entry in (0, 1)]
    if len(found) != len(value):
        raise argument_error("correct", value, "zeros and ones")
    return [int(entry) for entry in found]


def _kl(value: Mapping[str, Any], n: int, verdicts: list[int] | None) -> tuple[float | None, float | None]:
    """The mean log ratio, and that of the correct answers alone over all n."""
    if "log_ratio" not in value:
        return (_finite("kl", value["kl"]) if "kl" in value else None), None
    ratios = [_finite("log_ratio", entry) for entry in _list("log_ratio", value["log_ratio"])]
    if len(ratios) != n:
        raise argument_error("log_ratio", f"{len(ratios)} numbers", f"one for each of the {n} answers")
    if verdicts is None:
        return sum(ratios) / n, None
    return sum(ratios) / n, sum(r for r, v in zip(ratios, verdicts, strict=True) if v) / n


def _styles(value: Any, n: int) -> Mapping[str, int] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise argument_error("style", value, "an object of counts by name")
    found = {str(name): _whole("style", count) for name, count in value.items() if count is not None}
    if sum(found.values()) > n:
        raise argument_error("style", sum(found.values()), f"counts of at most n = {n} answers in all")
    return found
