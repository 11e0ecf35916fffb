"""Writes what is made, not typed: pages of theorems, guide to divergences, findings, pictures.

Run: python docs/generate.py (from anywhere; it writes only what has changed)
"""

import json
import re
from pathlib import Path

from dph_theory.kernel import coq, files
from dph_theory.methods.kl_terms import SHOWN
from dph_theory.methods.policy_losses import POLICY_LOSSES
from dph_theory.predict.configuration import READERS, configuration_of
from dph_theory.support.table import Table
from dph_theory.verification import pages, run
from figures.catalogue import figure
from figures.files import rendered
from figures.report import claims, guide, repairs

DOCS = Path(__file__).parent
PICTURES = (
    "atlas",
    *("laws", "way_back", "budget_and_family", "filtering", "direction"),
    *("lottery", "luck_or_time"),
    *("pass_at_k", "collapse", "what_your_kl_does", "what_your_advantage_weighs"),
)
"""Figures that the README and the docs show."""
FOUND = re.compile(r"(?<=from the stored results -->\n).*?(?=<!-- end -->)", re.S)
DIFFERS = re.compile(r"(?<=from the report's list -->\n).*?(?=<!-- end -->)", re.S)
KERNEL = re.compile(r"(?<=and the files of the kernel -->\n).*?(?=<!-- end -->)", re.S)
TRAINERS = re.compile(r"(?<=from dph_theory/methods/kl_terms.py -->\n).*?(?=<!-- end -->)", re.S)
DEFAULTS = re.compile(r"(?<=from dph_theory/predict/readers.py -->\n).*?(?=<!-- end -->)", re.S)
"""The parts of pages that are made."""


def generated() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    stored = guide.stored_records()
    beta = DOCS / "what-will-my-beta-do.md"
    parts = (
        (DOCS / "findings.md", FOUND, f"\n{guide.in_short(stored).strip()}\n\n"),
        (DOCS / "differences.md", DIFFERS, f"\n{claims.in_short()}\n"),
        (DOCS / "what-is-proved.md", KERNEL, f"\n{pages.in_kernel()}\n"),
        (beta, TRAINERS, trainers()),
        (beta, DEFAULTS, defaults()),
    )
    theorems = {DOCS / "theorems" / name: text for name, text in pages.pages().items()}
    pictures = {DOCS / "img" / f"{name}.svg": picture(name) for name in PICTURES}
    written: dict[Path, str] = {}
    for path, part, made in parts:
        text = written.get(path) or path.read_text(encoding="utf-8")
        written[path] = part.sub(lambda _, made=made: made, text)
    written[DOCS / "which-divergence.md"] = guide.guide(stored)
    written[DOCS / "which-repair-keeps-what.md"] = repairs.repairs(stored)
    return theorems | pictures | written


def trainers() -> str:
    """The table of the KL terms that `dph predict` knows."""
    rows = [(term.trainer, term.flags, term.formula, term.law, f"the {term.selects}") for term in SHOWN]
    head = ("trainer", "flags", "term of a token", "the KL term is", "with a small beta, training ends at")
    return f"\n{Table.of(head, rows).markdown()}\n\n"


def defaults() -> str:
    """The table of what each trainer does where its settings are silent."""
    clips = {form.trainer: form.formula for form in reversed(POLICY_LOSSES)}
    rows = []
    for name, reader in READERS.items():
        found = configuration_of({}, name)
        updates = "not told" if found.updates is None else f"{found.updates:g}"
        told = (found.penalty, found.selects, found.advantage, clips[found.trainer], found.reduction, updates)
        warned = "; ".join(found.warnings) or "-"
        rows.append((found.trainer, found.version, *told, found.sampler, warned, reader.files))
    head = (
        "trainer",
        "version",
        "KL",
        "ends at",
        "advantage",
        "policy loss",
        "reduction",
        "updates of a batch",
    )
    return f"\n{Table.of((*head, 'sampler', 'look out', 'read in'), rows).markdown()}\n\n"


def picture(name: str) -> str:
    """A figure as SVG, drawn from its stored numbers."""
    drawn = figure(name)
    return rendered(drawn.drawing(drawn.stored()), "svg").decode()


def compile_kernel() -> None:
    """Compile the kernel where its record is of other files, or lacks a theorem, and Coq is installed."""
    named = run.kernel_theorems()
    recorded = coq.recorded() if coq.RECORD.is_file() else None
    if coq.installed() and (
        recorded is None or (recorded.files, [*recorded.theorems]) != (files.hashes(), named)
    ):
        coq.RECORD.write_text(json.dumps(coq.compiled(named).as_json(), indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the files that are not as they should be."""
    compile_kernel()
    for path, text in generated().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
