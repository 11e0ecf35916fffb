"""The record of the laws of training: its runs as rows."""

from collections.abc import Mapping
from typing import Any

from dph_theory.support.errors import argument_error

FORMS = {
    "k3": "k3 in the loss",
    "k3_corrected": "corrected k3 in the loss",
    "k2": "k2 in the loss",
    "sequence_kl": "KL of the answer in the reward",
    "future_kl": "corrected k3 with the future KL",
}
"""The penalties of which theory E predicts a law, in words."""
LAWS = ("token forward KL", "token reverse KL", "sequence reverse KL")


def runs(record: Mapping[str, Any], *experiments: str, **fields: Any) -> list[dict[str, Any]]:
    """The runs of those experiments with those values of their fields, a mapping of all facts for each.

    Raises ValueError that says which command makes them, where the record has none.
    """
    columns = record["results"]["runs"]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    wanted = [row for row in rows if not experiments or row["experiment"] in experiments]
    found = [row for row in wanted if all(row[name] == value for name, value in fields.items())]
    if not found:
        asked = [*experiments, *(f"{name}={value}" for name, value in fields.items())]
        makes = " and ".join(f"dph laws --only {name}" for name in experiments) or "dph laws"
        raise argument_error(
            "laws", f"no run of {', '.join(asked)}", f"a record of such runs; {makes} makes them"
        )
    return found
