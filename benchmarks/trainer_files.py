"""Compare what `dph predict` reads in trainers' official example files with bash and the languages' loaders.

Fetch the repositories by hand, then: python benchmarks/trainer_files.py FOLDER, where FOLDER has a folder for
each trainer, named as in `dph_theory/predict/tables`. Scripts run in bash without a path to any program: each
program that a script starts is logged with its arguments instead. Scripts can still write files: run the
check as a user who may write nothing of worth.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from dph_theory.predict.configuration import DECIDING
from dph_theory.predict.reading import SettingsReading, tables, trainer_of
from dph_theory.predict.scanning import scan
from dph_theory.predict.values import Unresolved, plain, scalar, shown
from dph_theory.support.record import flat

_HANDLER = """
dirname() { local path="${@: -1}"; echo "${path%/*}"; }
realpath() { echo "${@: -1}"; }
command_not_found_handle() { printf '%s\\0' "$@" >> "$LOG"; printf '\\n\\0' >> "$LOG"; return 0; }
"""


def started(script: Path) -> Iterator[list[str]]:
    """The commands that a script starts, each with its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        handler, log = Path(folder) / "handler.sh", Path(folder) / "log"
        handler.write_text(_HANDLER, encoding="utf-8")
        log.touch()
        environment = {"PATH": folder, "BASH_ENV": str(handler), "LOG": str(log), "HOME": folder}
        command = ["/bin/bash", str(script.resolve())]
        quiet: dict[str, Any] = {"capture_output": True, "stdin": subprocess.DEVNULL, "check": False}
        try:
            subprocess.run(command, env=environment, cwd=folder, timeout=20, **quiet)
        except subprocess.TimeoutExpired:
            return
        for record in log.read_text(encoding="utf-8", errors="replace").split("\n\0"):
            yield record.removesuffix("\0").split("\0")


def arguments(words: list[str]) -> dict[str, str]:
    """The last value of each name=value and --name value, independent of the reader."""
    given: dict[str, str] = {}
    name = ""
    for word in words:
        left, equals, right = word.partition("=")
        if word.startswith("--") or (equals and "." in left and " " not in left):
            name = plain(left)
            given[name] = right if equals else "true"
            name = "" if equals else name
        elif name:
            given[name] = word if given[name] == "true" else f"{given[name]} {word}"
    return given


def loaded(path: Path) -> dict[str, Any]:
    """The leaves of YAML or TOML by the language's own loader, without lists of mappings."""
    text = path.read_text(encoding="utf-8")
    tree = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    leaves = {name: value for name, value in flat(tree).items() if not isinstance(value, list)}
    for _ in range(3):
        followed = ((name, re.fullmatch(r"\$\{([\w.]+)\}", str(value))) for name, value in leaves.items())
        leaves |= {name: leaves[match[1]] for name, match in followed if match and match[1] in leaves}
    return {plain(name): value for name, value in leaves.items()}


def compared(reading: SettingsReading, actual: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """For each deciding setting that the file gives: equal, one of several, open or wrong, and the values."""
    for role, (_, *names) in reading.roles.items():
        name = next((plain(name) for name in names if plain(name) in actual), None)
        if name is None or name not in reading.given:
            continue
        wanted = shown(scalar(str(actual[name])) if isinstance(actual[name], str) else actual[name])
        choices = reading.choices(role, reading.versions[0])
        values = {shown(scalar(choice.written)) for choice in choices}
        outcome = "equal" if values == {wanted} else "one of several" if wanted in values else "wrong"
        if outcome == "wrong" and any(isinstance(choice.value, Unresolved) for choice in choices):
            outcome = "open"
        yield outcome, f"{name}: {wanted}, read {sorted(values)}"


def checked(path: Path) -> tuple[str, list[tuple[str, str]]]:
    """How much of a file's objective is certain, and each setting's comparison."""
    try:
        file = scan(path)
        own = loaded(path) if path.suffix in (".yaml", ".yml", ".toml") else {}
    except (ValueError, yaml.YAMLError):
        return "no settings", []
    trainer = trainer_of(file.settings, file.text)
    if trainer is None:
        return "nothing", []
    reading = SettingsReading(trainer, file.settings, file.text)
    certain = [reading.answer(key).is_certain for key in DECIDING]
    kind = "full" if all(certain) else "partly" if any(certain) else "nothing"
    actual: Mapping[str, Any] = own
    if path.suffix == ".sh":
        names = {plain(name) for _, *names in reading.roles.values() for name in names}
        actual = max(map(arguments, started(path)), key=lambda given: len(names & given.keys()), default={})
    return kind, [*compared(reading, actual)]


def main() -> None:
    """Print a row for each trainer, then every setting that was read wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if os.geteuid() == 0:
        sys.stderr.write("Scripts run as root here: a container without anything of worth is the place.\n")
    wrong = []
    for trainer in sorted(path.name for path in folder.iterdir() if path.name in tables()):
        kinds, outcomes = Counter[str](), Counter[str]()
        for path in sorted(path for path in (folder / trainer).rglob("*") if path.is_file()):
            kind, comparisons = checked(path)
            kinds[kind] += 1
            outcomes.update(outcome for outcome, _ in comparisons)
            wrong += [f"{path}: {words}" for outcome, words in comparisons if outcome == "wrong"]
        sys.stdout.write(f"{trainer}: {dict(kinds)}; settings {dict(outcomes)}\n")
    sys.stdout.write("".join(f"wrong: {words}\n" for words in wrong))


if __name__ == "__main__":
    main()
