"""Writes what is made, not typed: pages of findings and repairs, tables in pages, two pictures.

Run: python docs/generate.py (from anywhere; it writes only what has changed). Theorem pages, the API's and
the other pictures are made where the site is built (`docs/site.py`).
"""

import re
import sys
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dph_theory.kernel import coq, files
from dph_theory.methods.kl_terms import SHOWN
from dph_theory.methods.policy_losses import POLICY_LOSSES
from dph_theory.predict.configuration import READERS, configuration_of
from dph_theory.support.table import Table
from dph_theory.verification import pages
from figures.catalogue import figure
from figures.files import rendered
from figures.frames import Records

DOCS = Path(__file__).parent
sys.path.append(str(DOCS))
MADE = ("findings.md", "which-repair.md")
"""Pages that are templates filled with stored numbers."""
PICTURES = ("pretrained", "laws")
"""The figure that the README shows, and the first of the findings; the site makes the others."""


def generated() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    made = {DOCS / "img" / f"{name}.svg": picture(name) for name in PICTURES} | written()
    beta, proved = DOCS / "what-will-my-beta-do.md", DOCS / "proved.md"
    tables = (
        (proved, "from the registry and the files of the kernel", pages.in_kernel()),
        (beta, "from dph_theory/methods/kl_terms.py", trainers()),
        (beta, "from dph_theory/predict/readers.py", defaults()),
    )
    for path, marker, text in tables:
        part = re.compile(rf"(?<={re.escape(marker)} -->\n).*?(?=<!-- end -->)", re.S)
        now = made.get(path) or path.read_text(encoding="utf-8")
        made[path] = part.sub(lambda _, text=text: f"\n{text.strip()}\n\n", now)
    return made


def written() -> dict[Path, str]:
    """The pages of stored numbers."""
    from quoted import found

    words = Environment(
        loader=FileSystemLoader(DOCS / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    forms = {"f2": "{:.2f}", "f3": "{:.3f}", "g": "{:g}", "g3": "{:.3g}", "signed": "{:+.3f}"}
    words.filters |= {name: form.format for name, form in forms.items()}
    told = found(Records())
    return {DOCS / name: words.get_template(name).render(told) + "\n" for name in MADE}


def trainers() -> str:
    """The table of the KL terms that `dph predict` knows."""
    rows = [(term.trainer, term.flags, term.formula, term.law, f"the {term.selects}") for term in SHOWN]
    head = ("trainer", "flags", "term of a token", "the KL term is", "with a small beta, training ends at")
    return Table.of(head, rows).markdown()


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
    return Table.of((*head, "sampler", "look out", "read in"), rows).markdown()


def picture(name: str) -> str:
    """A figure as SVG, drawn from the stored records."""
    drawn = figure(name)
    return rendered(drawn.drawing(drawn.numbers(Records())), "svg").decode()


def compile_kernel() -> None:
    """Compile the kernel where its record is of other files, and Coq is installed."""
    recorded = coq.recorded() if coq.RECORD.is_file() else None
    if coq.installed() and (recorded is None or recorded.files != files.hashes()):
        coq.compiled().kept()


def main() -> None:
    """Write the files that are not as they should be."""
    compile_kernel()
    for path, text in generated().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
