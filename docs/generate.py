"""Writes what is made, not typed: pages of theorems, guide to divergences, parts and pictures of the README.

Run: python docs/generate.py (from anywhere; it writes only what has changed)
"""

import re
from pathlib import Path

from dph_theory.verification import pages
from figures.catalogue import figure
from figures.report import claims, guide
from figures.results.drawings import rendered

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PICTURES = (
    *("laws", "way_back", "budget_and_family", "filtering", "direction"),
    *("pass_at_k", "collapse", "what_your_kl_does", "what_your_advantage_weighs"),
)
"""Figures that the README and the docs show."""
FOUND = re.compile(r"(?<=from the stored results -->\n).*?(?=<!-- end -->)", re.S)
DIFFERS = re.compile(r"(?<=from the report's list -->\n).*?(?=<!-- end -->)", re.S)
"""The parts of the README that are made."""


def generated() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    stored = guide.records()
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    for part, made in ((FOUND, f"{guide.in_short(stored).strip()}\n"), (DIFFERS, claims.in_short())):
        text = part.sub(lambda _, made=made: f"\n{made}\n", text)
    theorems = {DOCS / "theorems" / name: text for name, text in pages.pages().items()}
    pictures = {DOCS / "img" / f"{name}.svg": picture(name) for name in PICTURES}
    return theorems | pictures | {DOCS / "which-divergence.md": guide.guide(stored), readme: text}


def picture(name: str) -> str:
    """A figure as SVG, drawn from its stored numbers."""
    drawn = figure(name)
    return rendered(drawn.drawing(drawn.stored()), "svg").decode()


def main() -> None:
    """Write the files that are not as they should be."""
    for path, text in generated().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
