"""The one `dph` command; each package's own commands are imported only when they are used."""

import importlib
import os
import sys
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

INTERRUPTED, UNREAD = 130, 141
"""The exit codes of Ctrl-C, and of output that nobody reads any more (as in `dph verify | head -1`)."""


class _Command(NamedTuple):
    module: str
    attribute: str
    summary: str
    extra: str = "dev"
    """The pip extra that brings what the command needs beyond the core."""


COMMANDS = {
    "verify": _Command(
        "dph_theory.verification.cli", "verify", "Check every theorem, and that its false neighbours fall."
    ),
    "audit": _Command("dph_theory.audit.cli", "audit_command", "Tell what a loss really descends.", "toy"),
    "predict": _Command(
        "dph_theory.predict.cli", "predict_command", "Predict what a trainer's beta will do."
    ),
    "confront": _Command(
        "figures.confront.cli",
        "confront_command",
        "Tell what changed between two checkpoints, from counts alone.",
        "figures",
    ),
    "toy": _Command("toy_lm.cli", "toy", "Exact toy models: collapse, and what repairs it.", "toy"),
    "figures": _Command(
        "figures.cli", "figures_command", "Draw the figures, from stored numbers or new ones.", "toy,figures"
    ),
    "reproduce": _Command(
        "figures.cli", "reproduce_command", "Compute everything anew, and make the report.", "toy,figures"
    ),
    "presample": _Command(
        "full_scale.cli",
        "presample_command",
        "Roll out the initial model: D_pef, D_exp, the rehearsal buffer.",
        "full",
    ),
    "train": _Command(
        "full_scale.cli",
        "train_command",
        "Train by a recipe, from the last checkpoint if there is one.",
        "full",
    ),
    "watch": _Command(
        "full_scale.training.cli",
        "watch_command",
        "Draw a training's curves in the terminal or to a file.",
        "full",
    ),
    "evaluate": _Command(
        "full_scale.cli",
        "evaluate_command",
        "Greedy, Pass@k, styles, retention: of a run and its base.",
        "full",
    ),
    "publish": _Command(
        "full_scale.training.cli",
        "publish_command",
        "A trained model with its card in a folder, or on the Hub.",
        "full",
    ),
    "compare": _Command("full_scale.cli", "compare_command", "Hold trained runs against the theory.", "full"),
    "demo": _Command(
        "full_scale.cli", "demo_command", "The whole pipeline on the built-in task, on this machine.", "full"
    ),
    "laws": _Command(
        "full_scale.cli", "laws_command", "Hold a real Llama under TRL to the laws of training.", "full"
    ),
}


def _missing(name: str, error: ModuleNotFoundError) -> click.UsageError:
    return click.UsageError(
        f"dph {name} needs {error.name}: "
        f'in the folder of this project run pip install -e ".[{COMMANDS[name].extra}]"'
    )


class _Lazy(click.Group):
    """A group that knows its commands by name and a line each: --help and completion import none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = COMMANDS[cmd_name]
        from dph_theory.support.interrupts import deferred

        try:
            with deferred():
                module = importlib.import_module(command.module)
        except ModuleNotFoundError as error:
            raise _missing(cmd_name, error) from error
        found: click.Command = getattr(module, command.attribute)
        return _with_trl(found) if cmd_name == "audit" else found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        named = [
            CompletionItem(name, help=command.summary)
            for name, command in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        # Of a group only: its options, without its commands, which would be imported.
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        # Commands import what is heavy when they run: what is missing may show only here.
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # What is still to be flushed at the exit goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(UNREAD) from None
        except ModuleNotFoundError as error:
            if ctx.invoked_subcommand is None:
                raise
            raise _missing(ctx.invoked_subcommand, error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in COMMANDS.items()])


def _with_trl(audit: click.Command) -> click.Command:
    """`dph audit` with --trl, which needs full_scale and is loaded when it is used."""
    if any(param.name == "trl" for param in audit.params):
        return audit
    words = "Audit the installed TRL's own loss with the GRPOConfig settings of this YAML file."
    audit.params.append(click.Option(["--trl"], metavar="FILE", help=words))
    of_a_file = audit.callback

    def run(trl: str | None, **given: Any) -> Any:
        if trl is None:
            return of_a_file(**given) if of_a_file is not None else None
        live = importlib.import_module("full_scale.audit_command").audit_trl
        kept = {name: given.pop(name) for name in ("samples", "seed", "json_path")}
        if any(value not in (None, False) for value in given.values()):
            raise click.UsageError("--trl goes with --samples, --seed and --json alone")
        return live(trl, **kept)

    audit.callback = run
    return audit


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dph", prog_name="dph")
def main() -> None:
    """Why reinforcement learning with binary rewards loses diversity, and which divergence repairs it."""


if __name__ == "__main__":
    main()
