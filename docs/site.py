"""Hooks of mkdocs, which add to the site all that is no page.

The README is its first page; theorem pages and the API's are made here and stand in no folder; entries such
as `kl_control.cost` link to their page, and displayed formulas become MathML: no network is needed.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.structure.files import File

from dph_theory.theorems import SUBJECTS, THEOREMS
from dph_theory.verification import pages

DOCS = Path(__file__).parent
API = {
    "theory": (
        "dph_theory",
        "dph_theory.stationary",
        "dph_theory.finite_training",
        "dph_theory.checkpoints",
        "dph_theory.predict",
    ),
    "losses": ("dph_theory.losses", "dph_theory.audit"),
    "models": ("toy_lm", "full_scale", "figures"),
}
"""The packages whose docstrings are shown, by page."""
_ENTRY = re.compile(r"(?<!\[)`([a-z]\w+)(\.\w+)?`")
_LINK = re.compile(r"\[([^\]]*)\]\((?!https://|#)(docs/)?([^)]+)\)")
_DISPLAYED = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.M | re.S)


def on_files(files: Any, config: Any) -> Any:
    """Add what is made."""
    made: dict[str, str | bytes] = {"index.md": _readme()}
    made |= {f"theorems/{name}": text for name, text in pages.pages().items()}
    for page, packages in API.items():
        made[f"reference/{page}.md"] = "\n\n".join((f"# API: {page}", *map(_documented, packages)))
    made |= tour()
    for path, content in made.items():
        if files.get_file_from_path(path) is not None:
            files.remove(files.get_file_from_path(path))
        files.append(File.generated(config, path, content=content))
    return files


def _documented(package: str) -> str:
    """Options of mkdocstrings for a package: without a list it leaves out every name that is imported."""
    names = ", ".join(_public(package))
    return f"::: {package}" + (f"\n    options:\n      members: [{names}]" if names else "")


def _public(package: str) -> list[str]:
    """The names that a package defines or passes on (`import X as X`), read from its stub if it has one."""
    folder = DOCS.parent.joinpath(*package.split("."))
    file = next(path for path in (folder / "__init__.pyi", folder / "__init__.py") if path.exists())
    names: list[str | None] = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(names=found):
                names += [one.asname for one in found if one.asname == one.name]
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.append(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                names.append(name)
    return [name for name in names if name and not name.startswith("_")]


def tour() -> dict[str, str | bytes]:
    """`examples/tour.py` as a page: its cells, and below each the picture that it draws when it is run."""
    script = DOCS.parent / "examples" / "tour.py"
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, script], cwd=folder, check=True, capture_output=True)
        pictures = {f"img/{path.name}": path.read_bytes() for path in sorted(Path(folder).glob("tour-*.png"))}
    parts, shown = [], iter(pictures)
    for cell in re.split(r"^# %% ?", script.read_text(encoding="utf-8"), flags=re.M)[1:]:
        kind, _, text = cell.partition("\n")
        if kind == "[markdown]":
            parts.append(re.sub(r"^# ?", "", text, flags=re.M))
            continue
        parts.append(f"```python\n{text.strip()}\n```\n")
        if "axes = picture(" in text:
            parts.append(f"![]({next(shown)})\n")
    return {"tour.md": "\n".join(parts), **pictures}


def _readme() -> str:
    """The README with links that hold within the site; what lies outside of it is named alone."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    return _LINK.sub(lambda link: f"[{link[1]}]({link[3]})" if link[2] else link[1], text)


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """The page with entries as links and with its formulas written as MathML."""
    from latex2mathml.converter import convert

    up = "" if "/" not in page.file.src_uri else "../"
    if not page.file.src_uri.startswith("theorems/"):
        markdown = _ENTRY.sub(lambda entry: _linked(entry, up), markdown)
    return _DISPLAYED.sub(
        lambda found: f'<div class="formula">{convert(found[1], display="block")}</div>', markdown
    )


def on_post_page(output: str, page: Any, **more: Any) -> str:
    """The page with the script by which it is searched from disk, from the site and not from elsewhere."""
    script = "../" * page.url.count("/") + "frame-worker.js"
    return output.replace("https://unpkg.com/iframe-worker/shim", script)


def on_post_template(output: str, template_name: str, **more: Any) -> str:
    """Change the page for a missing address as the other pages are changed."""
    return output.replace("https://unpkg.com/iframe-worker/shim", "/frame-worker.js")


def _linked(entry: re.Match[str], up: str) -> str:
    subject, name = entry[1], f"{entry[1]}{entry[2] or ''}"
    known = name in THEOREMS or name in SUBJECTS
    return f"[{entry[0]}]({up}theorems/{subject}.md)" if known else entry[0]
