"""The `dph` command, which imports each package's commands only when they are used."""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

INTERRUPTED, UNREAD = 130, 141
"""Exit codes after Ctrl-C, and after a closed output pipe (as in `dph verify | head -1`)."""


class _Command(NamedTuple):
    place: str
    """A module with a function NAME_command, or module:function."""
    summary: str
    extra: str = "dev"
    """The pip extra that installs the command's packages."""
    example: str = ""
    """Example arguments, which the help shows and a test runs."""


AUDITS = {
    "loss": _Command("dph_theory.audit.cli", "Which divergence a loss really minimises.", "toy",
                     "examples/audit_your_own_loss.py:penalty --samples policy"),
    "advantage": _Command("dph_theory.audit.cli", "What an advantage weighs and maximises.", "toy",
                          "examples/audit_your_own_advantage.py:centred"),
    "metric": _Command("dph_theory.audit.cli", "Whether a Pass@k is one.", "toy",
                       "examples/audit_your_own_metric.py:unbiased"),
    "catalogue": _Command("dph_theory.audit.cli", "What published KL terms, losses and advantages do.",
                          "toy", "Tinker"),
    "trainer": _Command("full_scale.audit.command", "What the installed TRL minimises with your settings.",
                        "full", "run.yaml"),
}  # fmt: skip
EXPERIMENTS = {
    "small-llama": _Command("full_scale.cli", "Test stationary policies on a small Llama under TRL.", "full",
                            "--quick"),
    "pretrained": _Command("full_scale.cli", "Test stationary policies and Pass@k on a pretrained Llama.",
                           "full", "--quick"),
    "sql": _Command("full_scale.cli", "Compare what an advantage is divided by on the SQL task under TRL.",
                    "full", "--quick"),
}  # fmt: skip
SECTIONS = {
    "Your run": {
        "count": _Command("full_scale.cli", "Sample a model's answers, count the correct ones.", "full",
                          "smollm2 examples/twelve_prompts.jsonl --verifier exact --n 16 --to base.jsonl"),
        "transfer": _Command("full_scale.cli", "Measure what training on some prompts will do to others.",
                             "full", "smollm2 examples/transfer/train.jsonl --to kernel.npz"),
        "predict": _Command("dph_theory.predict.cli", "Predict what a run's settings will do.", "predict",
                            "trl beta=0.04 --counts examples/counts/base.jsonl"),
        "audit": _Command("dph_cli:audit", "Find what a loss, an advantage, a metric or TRL really does.",
                          "toy", "metric examples/audit_your_own_metric.py:unbiased"),
        "compare": _Command("dph_theory.checkpoints.cli",
                             "What changed between two checkpoints, from counts alone.", "figures",
                             "examples/counts/base.jsonl examples/counts/grpo.jsonl"),
    },
    "Theory": {
        "verify": _Command("dph_theory.verification.cli:verify",
                           "Check every theorem, and that false variants fail.", "dev",
                           "kl_control.pass_rate --quick"),
        "toy": _Command("toy_lm.cli:toy", "Exact toy models: collapse, and what prevents it.", "toy",
                        "strategies --quick"),
        "figures": _Command("figures.cli", "Draw the figures from stored numbers.", "figures",
                            "mu_beta --format svg --to drawings"),
        "reproduce": _Command("figures.cli", "Recompute everything, and write the report.", "toy,figures",
                              "--quick --to report"),
    },
    "Training": {
        "presample": _Command("full_scale.cli",
                              "Roll out the model; split its prompts; store correct answers.", "full",
                              "--config tiny-sql"),
        "train": _Command("full_scale.cli", "Train by a recipe, from the last checkpoint if there is one.",
                          "full", "--config tiny-sql method.name=DPH-F --dry-run"),
        "evaluate": _Command("full_scale.cli", "Greedy, Pass@k, styles, retention: of a run and its base.",
                             "full", "--config tiny-sql --base"),
        "validate": _Command("full_scale.cli", "Compare trained runs with the theory.", "full",
                            "runs/own/own-seed0 runs/own/own-seed1 --json validated.json"),
        "methods": _Command("full_scale.cli",
                            "Train several methods by one recipe, and compare their Pass@k.", "full",
                            "--config llama3.2-1b-gsm8k --seeds 2"),
        "demo": _Command("full_scale.cli", "The whole pipeline on the built-in task, on this machine.",
                         "full", "--quick"),
        "experiment": _Command("dph_cli:experiment", "Test the theory on a Llama under TRL.", "full",
                               "pretrained --quick"),
    },
}  # fmt: skip
RECIPES = "full_scale.recipe.predicted:recipe_run"
"""Function that reads a recipe for `dph predict`."""
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}


class _Lazy(click.Group):
    """A group of commands known by name and summary: --help and completion import none of them."""

    def __init__(self, *args: Any, lazy: dict[str, _Command], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        command = self.lazy[cmd_name]
        module_name, _, function = command.place.partition(":")
        from dph_theory.support.processes import deferred

        try:
            with deferred():
                module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise self._missing(cmd_name, error) from error
        loaded: click.Command = getattr(module, function or f"{cmd_name.replace('-', '_')}_command")
        words = " ".join(
            word for word in ((self.name or "").replace("main", ""), cmd_name, command.example) if word
        )
        loaded.epilog = f"\b\nExample: dph {words}"
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from dph_theory.support.errors import closest_name

        if args[0] not in self.lazy and (near := closest_name(args[0], tuple(self.lazy))):
            ctx.fail(f"No such command {args[0]!r}: is {near} meant?")
        return super().resolve_command(ctx, args)

    def _missing(self, name: str, error: ModuleNotFoundError) -> click.UsageError:
        return click.UsageError(
            f"dph {'' if self.name == 'main' else f'{self.name} '}{name} needs {error.name}: "
            f'pip install -e ".[{self.lazy[name].extra}]"'
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        named = [
            CompletionItem(name, help=command.summary)
            for name, command in self.lazy.items()
            if name.startswith(incomplete)
        ]
        # Complete the options of a group only: completing its commands would import them.
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        # Help and usage errors are printed here.
        with self._in_words():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        # Commands import heavy packages when they run, so a missing one may show only here.
        with self._in_words(ctx):
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()

    @contextmanager
    def _in_words(self, ctx: click.Context | None = None) -> Iterator[None]:
        """Turn what a user can act on into words and an exit code: the one place for all commands."""
        try:
            yield
        except click.exceptions.Exit:
            raise
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Output that is flushed at the exit is discarded.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(UNREAD) from None
        except ModuleNotFoundError as error:
            if ctx is None or ctx.invoked_subcommand is None:
                raise
            raise self._missing(ctx.invoked_subcommand, error) from error
        except click.ClickException as error:
            from dph_theory.support.table import printable

            # What comes from files and arguments must not reach the terminal as control characters.
            shown = "\n".join(map(printable, error.message.splitlines()))
            object.__setattr__(error, "message", shown)
            raise
        except (OSError, RuntimeError) as error:
            from dph_theory.support.errors import RefusedError

            if not isinstance(error, OSError | RefusedError):
                raise
            raise click.ClickException(str(error)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.lazy))
        for title, section in (SECTIONS if self.lazy is COMMANDS else {"Commands": self.lazy}).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), section[name].summary) for name in section])


def _list_experiments(ctx: click.Context, option: click.Parameter, chosen: bool) -> None:
    if chosen:
        importlib.import_module("full_scale.cli").list_experiments()
        ctx.exit()


audit = _Lazy("audit", lazy=AUDITS, help=COMMANDS["audit"].summary)
experiment = _Lazy(
    "experiment",
    lazy=EXPERIMENTS,
    help=COMMANDS["experiment"].summary,
    params=[
        click.Option(["--list"], is_flag=True, is_eager=True, expose_value=False, callback=_list_experiments,
                     help="List all experiments, and how many of their runs are finished.")
    ],
)  # fmt: skip


@click.command(
    cls=_Lazy,
    lazy=COMMANDS,
    # A command may use a function of a package above its own, given by name.
    context_settings={"help_option_names": ["-h", "--help"], "obj": {"recipes": RECIPES}},
    epilog="Example: dph predict trl beta=0.04 --counts examples/counts/base.jsonl",
)
@click.version_option(package_name="dph", prog_name="dph")
def main() -> None:
    """Why reinforcement learning with binary rewards loses diversity, and which divergence retains it."""


if __name__ == "__main__":
    main()
