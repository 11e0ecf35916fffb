"""`dph audit --trl FILE`: what the installed TRL's own loss descends with the settings of a file."""

from pathlib import Path

import click

from dph_theory.support import terminal


@click.command(name="audit --trl")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def audit_trl_command(path: Path) -> None:
    """Audit GRPOTrainer with the GRPOConfig settings of a YAML file; its other names are listed."""
    from .training.live_audit import audit_file

    try:
        report, others = audit_file(path)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"{path}: {error}") from error
    console = terminal.console()
    lines = [report.verdict]
    if report.reduction is not None:
        lines.append(f"adds up: {report.reduction.words}")
    lines.append(f"law of training: {report.law}; selects as its coefficient falls: {report.selects}")
    if others:
        lines.append(f"no settings of GRPOConfig, and not read: {', '.join(others)}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
