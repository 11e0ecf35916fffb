"""`dph audit trainer FILE`: audit the installed TRL's own training step with the settings of a file."""

import sys
from importlib.metadata import version
from pathlib import Path

import click

from dph_theory.support import terminal
from dph_theory.support.files import STANDARD_OUTPUT, write_json

# Equal to `dph_theory.audit.SAMPLES`, whose import would load torch to show the help.
SAMPLES = ("policy", "old_policy", "reference", "filtered")


@click.command(name="trainer", short_help="Whose gradient the installed TRL's own loss has.")
@click.argument("path", metavar="FILE.yaml")
@click.option(
    "--samples",
    type=click.Choice(SAMPLES),
    default="policy",
    show_default=True,
    help="Origin of the samples.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the problems."
)
@click.option("--json", "json_path", type=terminal.OutputFile(), help="Output file of the findings.")
def trainer_command(path: str, samples: str, seed: int, json_path: Path | None) -> None:
    """Audit the installed TRL's GRPOTrainer with the GRPOConfig settings of a YAML file.

    TRL's own advantages and loss run, on-policy, and off-policy if a batch is used twice or another sampler
    draws it. Names that only TRL's scripts read are listed; unknown names are an error.
    """
    if not Path(path).is_file():
        raise click.UsageError(f"there is no file {path}")
    from transformers.utils import logging

    from dph_theory.audit.cli import say
    from dph_theory.audit.precision import AdvantageError

    from .live_audit import audit_file

    logging.disable_progress_bar()  # The models are tiny and built locally.
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    try:
        report, ignored = audit_file(Path(path), samples=samples, seed=seed)
    except AdvantageError as error:
        terminal.say(console, f"could not be audited with TRL {version('trl')}: {error}")
        sys.exit(1)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"{path}: {error}") from error
    if json_path is not None:
        write_json(json_path, {**report.to_dict(), "verdict": report.verdict, "not_read": ignored})
    verdicts = [report.loss.verdict, *([report.later.verdict] if report.later else [])]
    other = [f"Not settings of GRPOConfig: {', '.join(ignored)}."] if ignored else []
    say(console, [*verdicts, f"Advantage: {report.advantage.verdict}", *report.notes, *other], report.rows())
