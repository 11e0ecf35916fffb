"""Checks that distinguish local paths from names on the Hub."""

from pathlib import Path, PurePath

from dph_theory.support.errors import argument_error

_FILES = {".json", ".jsonl", ".csv", ".parquet", ".gguf", ".safetensors"}


def require_here(argument: str, name: str, allowed: str) -> None:
    """Raise ValueError for a missing local path, so that a stranger's Hub name is never loaded instead.

    A Hub name is one word, or two words separated by a slash. A name is a path if it begins with `/`, `.`,
    `~` or an existing folder, has more slashes, or ends like a data file.
    """
    path = PurePath(name)
    local = name.startswith(("/", ".", "~")) or "\\" in name or len(path.parts) > 2 or path.suffix in _FILES
    local = local or (len(path.parts) == 2 and Path(path.parts[0]).is_dir())
    if local and not Path(name).expanduser().exists():
        raise argument_error(argument, name, f"{allowed}; there is no such path on this machine")
