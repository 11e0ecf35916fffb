"""`pytest --dph`: losses marked by `conforms` are audited, and held to what they say and to a lock.

Off unless asked for: it then collects the marked losses of test modules, those imported there included. It
stands beside the packages, and imports them when it is asked: pytest loads it in every project.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

SCHEMA = 1
_NUMBER = re.compile(r"(off by )?(-?\d[\d.]*(?:e[-+]?\d+)?)( degrees?)?")
FOUND = pytest.StashKey[dict[str, dict[str, str]]]()


class ConformanceError(Exception):
    """A loss that is not what it says, or not what it was."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("dph", "what losses descend")
    group.addoption("--dph", action="store_true", help="Audit the losses marked by dph_theory.conforms.")
    group.addoption("--dph-update", action="store_true", help="With --dph: write their verdicts to the lock.")
    group.addoption(
        "--dph-lock", default="dph.lock.json", metavar="FILE", help="The lock, from the root folder."
    )


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> pytest.Item | None:
    """A marked loss is a test of its own."""
    if not collector.config.getoption("--dph"):
        return None
    from dph_theory.conformance import claims_of

    if claims_of(obj) is None:
        return None
    found: pytest.Item = Conformance.from_parent(collector, name=f"{name}[conforms]", loss=obj)
    return found


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The verdicts found, into the lock: those of losses that did not run stay."""
    found = session.config.stash.get(FOUND, {})
    if found and session.config.getoption("--dph-update"):
        from dph_theory.support.files import write_json

        path = _lock(session.config)
        write_json(path, {"schema": SCHEMA, "losses": dict(sorted({**_locked(path), **found}.items()))})


def _lock(config: pytest.Config) -> Path:
    return Path(config.rootpath) / str(config.getoption("--dph-lock"))


def _locked(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    held = json.loads(path.read_text(encoding="utf-8"))
    if held.get("schema") != SCHEMA:
        raise ConformanceError(
            f"{path} has schema {held.get('schema')}, not {SCHEMA}: write it with --dph-update"
        )
    losses: dict[str, dict[str, str]] = held["losses"]
    return losses


def _same(one: str, other: str) -> bool:
    """Whether two verdicts say the same: what was searched or rounded may differ in its last digit."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False

    def near(before: str, first: str, second: str, after: str) -> bool:
        share = 0.2 if before else 0.01
        return math.isclose(float(first), float(second), rel_tol=share, abs_tol=1.0 if after else 0.0)

    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(near(before, first, second, after) for (before, first, after), (_, second, _) in pairs)


class Conformance(pytest.Item):
    """The audit of one loss."""

    def __init__(self, *, loss: Any, **others: Any) -> None:
        super().__init__(**others)
        self.loss = loss

    def runtest(self) -> None:
        """Audit it; ConformanceError where a claim is violated, or the verdict is another than the lock's."""
        from dph_theory.audit import audit
        from dph_theory.conformance import claims_of, violations

        claims = claims_of(self.loss)
        if claims is None:
            return
        report = audit(self.loss, samples=claims.samples)
        if wrong := violations(claims, report):
            raise ConformanceError("\n".join(wrong))
        key = f"{self.loss.__module__}:{self.loss.__qualname__}"
        found = {"verdict": report.verdict, "law": report.law, "selects": report.selects}
        self.config.stash.setdefault(FOUND, {})[key] = found
        if self.config.getoption("--dph-update"):
            return
        path = _lock(self.config)
        held = _locked(path).get(key)
        if held is None:
            raise ConformanceError(f"{key} is not in {path.name}: pytest --dph --dph-update writes it")
        if held.keys() != found.keys() or not all(_same(held[name], found[name]) for name in found):
            raise ConformanceError(f"it was: {held['verdict']}\nit is:  {found['verdict']}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The reason alone."""
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands."""
        return self.path, None, self.name
