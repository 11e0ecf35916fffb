"""The one `dph` command; each package's own commands are imported only when they are used."""

import importlib
from typing import NamedTuple

import click


class _Command(NamedTuple):
    module: str
    attribute: str
    summary: str
    extra: str = "dev"
    """The pip extra that brings what the command needs beyond the core."""


COMMANDS = {
    "verify": _Command(
        "dph_theory.cli", "verify", "Check every theorem, and that its false neighbours fall."
    ),
    "audit": _Command("dph_theory.audit.cli", "audit_command", "Tell what a loss really descends.", "toy"),
}


class _Lazy(click.Group):
    """A group that knows its commands by name and one line each, so that --help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = COMMANDS[cmd_name]
        try:
            module = importlib.import_module(command.module)
        except ModuleNotFoundError as error:
            hint = f"dph {cmd_name} needs {error.name}: pip install dph[{command.extra}]"
            raise click.UsageError(hint) from error
        return getattr(module, command.attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in COMMANDS.items()])


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dph", prog_name="dph")
def main() -> None:
    """Why reinforcement learning with binary rewards loses diversity, and which divergence repairs it."""


if __name__ == "__main__":
    main()
