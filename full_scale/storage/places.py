"""Whether a name can only be meant on this machine, and not on the Hub."""

from pathlib import Path, PurePath

from dph_theory.support.errors import argument_error

_FILES = {".json", ".jsonl", ".csv", ".parquet", ".gguf", ".safetensors"}


def require_here(argument: str, name: str, allowed: str) -> None:
    """ValueError for a path on this machine that leads nowhere; on the Hub it would be a stranger's.

    A name of the Hub is one word, or two with a slash between them. What begins with `/`, `.` or `~`, has
    more slashes, ends as a file of data does, or begins with a folder that is here is a path.
    """
    path = PurePath(name)
    local = name.startswith(("/", ".", "~")) or "\\" in name or len(path.parts) > 2 or path.suffix in _FILES
    local = local or (len(path.parts) == 2 and Path(path.parts[0]).is_dir())
    if local and not Path(name).expanduser().exists():
        raise argument_error(argument, name, f"{allowed}; there is no such path on this machine")
