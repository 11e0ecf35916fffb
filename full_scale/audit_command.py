"""`dph audit --trl FILE`: what the installed TRL's own loss descends with the settings of a file."""

from pathlib import Path

import click

from dph_theory.support import terminal
from dph_theory.support.files import STANDARD_OUTPUT, write_json


def audit_trl(path: str, samples: str | None, seed: int, json_path: Path | None) -> None:
    """Audit GRPOTrainer with the GRPOConfig settings of a YAML file; its other names are listed."""
    from .training.live_audit import audit_file

    if not Path(path).is_file():
        raise click.UsageError(f"--trl: there is no file {path}")
    try:
        report, others = audit_file(Path(path), samples=samples or "policy", seed=seed)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"{path}: {error}") from error
    if json_path is not None:
        write_json(json_path, {**report.as_json(), "not_read": others})
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    lines = [report.verdict]
    if report.reduction is not None:
        lines.append(f"adds up: {report.reduction.words}")
    lines.append(f"law of training: {report.law}; selects as its coefficient falls: {report.selects}")
    if others:
        lines.append(f"no settings of GRPOConfig, and not read: {', '.join(others)}")
    for line in lines:
        terminal.say(console, line)
