"""What `dph audit --advantage` and `--metric` show and write; each gives the exit code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json, write_text
from .advantages import AdvantageError, audit_advantage
from .advantages import page as advantages_page
from .metrics import MetricError, audit_metric


def audit_advantages(
    advantage: Callable[..., Any] | None,
    group_size: int | None,
    json_path: Path | None,
    page_path: Path | None,
) -> int:
    """Audit one advantage, or the catalogue's if there is none; 1 if it fails."""
    console = terminal.console(stderr=STANDARD_OUTPUT in (json_path, page_path))
    try:
        if advantage is None:
            sizes = advantages_page.SIZES if group_size is None else (group_size,)
            reports = advantages_page.catalogue(sizes)
        else:
            reports = [audit_advantage(advantage, group_size=group_size or 8)]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except AdvantageError as error:
        terminal.say(console, f"could not be audited: {error}")
        return 1
    if json_path is not None:
        found = [report.as_json() for report in reports]
        write_json(json_path, found if advantage is None else found[0])
    if page_path is not None:
        write_text(page_path, advantages_page.page(reports))
    for report in reports:
        terminal.say(console, report.verdict)
    if advantage is not None:
        console.print(advantages_page.findings(reports[0]))
    return 0


def audit_one_metric(metric: Callable[..., Any], json_path: Path | None) -> int:
    """Audit one metric; 1 if it fails."""
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    try:
        report = audit_metric(metric)
    except MetricError as error:
        terminal.say(console, f"could not be audited: {error}")
        return 1
    if json_path is not None:
        write_json(json_path, report.as_json())
    terminal.say(console, report.verdict)
    return 0
