"""SQL verdicts a second: two sandboxed workers against a plain loop without any safety.

The loop opens the database, runs the gold query and the predicted one, and compares the sets of rows: no
process apart, no limit, no authorizer, no gold result kept. "One process" is the same judge as the workers',
called directly: what is left between it and the workers is the way to them and back. Queries are all
different; the short ones read 100 rows, the long ones sort 5,000. The cases take turns; wall seconds, so that
the ratio falls where others use the second core. Prints the table and stores it, with the machine, in
benchmarks/results/sql.json.
"""

import argparse
import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from stored import store

from full_scale.tasks.protocol import Prompt
from full_scale.tasks.verifiers.sandbox import QueryLimits
from full_scale.tasks.verifiers.sql import SqlVerifier
from full_scale.tasks.verifiers.sql_judge import judge

KINDS = {
    "short": (100, 2000, "SELECT name FROM item WHERE price > {}"),
    "long": (5_000, 50, "SELECT colour, avg(price) FROM item WHERE price > {} GROUP BY name ORDER BY name"),
}
"""Rows of the table, number of queries, the query."""


def database(path: Path, rows: int) -> Path:
    """A table of names, colours and prices."""
    drawn = np.random.default_rng(0).integers(0, 1000, (rows, 2)).tolist()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE item (name TEXT, colour TEXT, price REAL)")
        items = [(f"n{i}", f"c{colour % 10}", price / 7) for i, (colour, price) in enumerate(drawn)]
        connection.executemany("INSERT INTO item VALUES (?, ?, ?)", items)
    return path


def plainly(path: Path, gold: str, queries: Sequence[str]) -> list[bool]:
    """The verdicts of a loop without safety."""
    verdicts = []
    for query in queries:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            expected, rows = (set(connection.execute(text).fetchall()) for text in (gold, query))
        verdicts.append(expected == rows)
    return verdicts


def in_one_process(path: Path, gold: str, queries: Sequence[str]) -> list[bool]:
    """The verdicts of the workers' judge, called here."""
    job = {"database": str(path), "gold": gold, "match": "bird", "limits": QueryLimits()}
    return [judge({**job, "query": query})["outcome"] == "correct" for query in queries]


def rates(path: Path, kind: str, rounds: int) -> dict[str, list[float]]:
    """Verdicts a second of each case in each round."""
    _, count, text = KINDS[kind]
    queries, gold = [text.format(i / 10) for i in range(count)], text.format(7)
    example = Prompt("e", "", {"database": str(path), "query": gold})
    per_second: dict[str, list[float]] = {}
    with SqlVerifier(workers=2) as verifier:

        def by_workers(*_: Any) -> list[bool]:
            return [score.correct for score in verifier([example] * count, queries)]

        cases: dict[str, Callable[..., list[bool]]] = {
            "plain loop": plainly, "one process": in_one_process, "two workers": by_workers,
        }  # fmt: skip
        by_workers()
        for _ in range(rounds):
            verdicts = []
            for case, work in cases.items():
                start = time.perf_counter()
                verdicts.append(work(path, gold, queries))
                per_second.setdefault(case, []).append(count / (time.perf_counter() - start))
            if verdicts[0] != verdicts[1] or verdicts[0] != verdicts[2]:
                raise RuntimeError(f"{kind}: the verdicts differ")
    return per_second


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, (size, _, _) in KINDS.items():
            per_second = rates(database(Path(folder) / f"{kind}.sqlite", size), kind, options.rounds)
            for case, measured in per_second.items():
                ratios = np.divide(measured, per_second["plain loop"])
                rows.append(
                    {
                        "queries": kind,
                        "case": case,
                        "per_second": float(np.median(measured)),
                        "over_plain": float(np.median(ratios)),
                        "over_plain_range": [float(ratios.min()), float(ratios.max())],
                    }
                )
    store("sql", sqlite=sqlite3.sqlite_version, rounds=options.rounds, rows=rows)
    table = Table("queries", "case", "verdicts a second", "over the plain loop's")
    for row in rows:
        table.add_row(row["queries"], row["case"], f"{row['per_second']:.0f}", f"{row['over_plain']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
