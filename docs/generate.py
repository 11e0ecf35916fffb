"""Writes what is made, not typed: pages of stored numbers, tables in pages, the gallery and its pictures.

Run: python docs/generate.py (from anywhere; it writes only what has changed). Theorem pages and the API's are
made where the site is built (`docs/site.py`).
"""

import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure as Drawing

from dph_theory.binary_reward import tilted
from dph_theory.coq import compiler, printer, sources
from dph_theory.coq.compilation import RECORD, recorded
from dph_theory.finite_training import Rollouts, flow
from dph_theory.losses.advantages import FORMS
from dph_theory.losses.kl_terms import KL_TERMS, SHOWN
from dph_theory.losses.policy_losses import POLICY_LOSSES
from dph_theory.stationary import (
    masked_policy,
    policy_after_resets,
    policy_at_temperature,
    sequence_policy,
    table_pass_rate,
    tempered,
    truncated,
)
from dph_theory.support.table import Table
from dph_theory.verification import pages
from dph_theory.verification.ties import tied_names
from figures.catalogue import NAMES, figure
from figures.files import rendered
from figures.frames import Records
from figures.style import Sheet
from figures.venues import PHONE

DOCS = Path(__file__).parent
sys.path.append(str(DOCS))
MEASURED = DOCS.parent / "dph_theory" / "predict" / "measured.json"


def generated() -> dict[Path, str]:
    """Every generated page and table with the text that it should have."""
    made = written() | {DOCS / "appendix" / "gallery.md": gallery(), MEASURED: measured()}
    tables = (
        ("proved", "from the registry and the Coq proofs", pages.in_kernel()),
        ("appendix/papers", "from the registry", pages.papers()),
        ("appendix/real-runs", "from the figure real_runs", table("real_runs")),
    )
    for page, marker, text in tables:
        path = DOCS / f"{page}.md"
        part = re.compile(rf"(?<={re.escape(marker)} -->\n).*?(?=<!-- end -->)", re.S)
        now = made.get(path) or path.read_text(encoding="utf-8")
        made[path] = part.sub(lambda _, text=text: f"\n{text.strip()}\n\n", now)
    return made


def measured() -> str:
    """The measured runs that `dph predict` quotes, those of the SQL task from their record."""
    from quoted import measured_sql

    stored = json.loads(MEASURED.read_text(encoding="utf-8"))
    sql = measured_sql(Records())
    others = [row for row in stored["runs"] if row["task"] != sql[0]["task"]]
    return json.dumps({**stored, "runs": sql + others}, indent=1) + "\n"


def written() -> dict[Path, str]:
    """The pages of stored numbers."""
    from quoted import quoted

    words = Environment(
        loader=FileSystemLoader(DOCS / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    forms = {"f2": "{:.2f}", "f3": "{:.3f}", "g": "{:g}", "g3": "{:.3g}", "signed": "{:+.3f}"}
    words.filters |= {name: form.format for name, form in forms.items()}
    terms = [(term.trainer, term.flags, term.formula, term.stationary_kl, term.selects) for term in SHOWN]
    head = ("trainer", "flags", "term of a token", "minimises", "with a small beta converges to the")
    numbers = quoted(Records()) | {
        "table": table,
        "kl_terms": Table.from_rows(head, terms).markdown(),
        "samplers": samplers(),
        "forms": len(KL_TERMS) + len(POLICY_LOSSES),
        "advantages": len(FORMS),
    }
    return {DOCS / name: words.get_template(name).render(numbers) + "\n" for name in words.list_templates()}


def table(name: str) -> str:
    """The table of a figure."""
    drawn = figure(name)
    return drawn.table(drawn.numbers(Records())).markdown()


def gallery() -> str:
    """The page of every figure: what it shows in its title, the picture, its caption, and its command."""
    parts = []
    for drawn in map(figure, NAMES):
        quotes = drawn.quotes(drawn.numbers(Records())) if drawn.needs else {}
        quoted_numbers = ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value:.3g}'}" for name, value in quotes.items()
        )
        picture, command = (
            f"![{drawn.title}](../img/{drawn.name}.svg)",
            f"`dph figures {drawn.name} --tables -`",
        )
        numbers = f"{quoted_numbers}; all: {command}" if quotes else command
        parts += [f"## {drawn.title}", picture, drawn.caption, f"Numbers: {numbers}"]
    top = (
        "<!-- Written by docs/generate.py from figures/gallery and figures/numbers. -->",
        "# Gallery",
        "**What do the figures show, and from which numbers?** Each title is tested against the numbers; "
        "`dph figures` draws all from stored records, `dph figures NAME --venue icml` one for a paper, "
        "with its caption, and `--tables -` prints its numbers. Here they are as wide as a telephone: what a "
        "caption calls left and right stands one below the other.",
    )
    return "\n\n".join((*top, *parts)) + "\n"


def samplers() -> str:
    """Table of what a sampler's settings do to one prompt, three correct answers of six, at beta = .3."""
    from quoted import BASE, BETA, CORRECT

    base, beta, right = BASE, BETA, CORRECT
    cooler, cut = partial(tempered, temperature=0.6), partial(truncated, top_p=0.9)

    def run(form: str, how: Rollouts, step: float | None = None) -> list[np.ndarray]:
        return flow(base, right, [300.0 if step else 3e4], form=form, beta=beta, rollouts=how, step=step)[0]

    whole, verdict = (Rollouts(cooler, "sequence", corrects_penalty=on) for on in (True, False))
    at, both = (
        partial(policy_at_temperature, base, right, beta),
        ", of rollouts and log-probabilities, read out at 1",
    )
    laws = {
        "nothing": (sequence_policy(base, right, beta), "as predicted"),
        f"temperature 0.7{both}": (at(0.7), "as beta/0.7"),
        f"temperature 1.3{both}": (at(1.3), "as beta/1.3"),
        "rollouts alone at .6, KL in the reward": (run("sequence_kl", Rollouts(cooler)), "unchanged"),
        "the same, k2 in the loss": (run("k2", Rollouts(cooler)), "changed, to first order"),
        "and the answer's importance weight on reward and KL": (run("k2", whole), "restored"),
        "and that weight on the reward alone, as TRL corrects vLLM": (
            run("k2", verdict), "not restored: tends to 1"),
        "top-p .9, no KL": (run("none", Rollouts(cut), 0.2), "as sampled 1, at full sampling about .9"),
        "top-p .9, KL in the reward": (run("sequence_kl", Rollouts(cut), 0.2), "about .9"),
        "the reference set to the policy four times": (
            policy_after_resets(base, right, beta, 5), "as beta/5, the base's proportions stay"),
    }  # fmt: skip
    rows = [(what, f"{float(table_pass_rate(law, right)):.3f}", words) for what, (law, words) in laws.items()]
    masked, finished = [0.22, 0.12, 0.06, 0.2, 0.1, 0.3], np.array([1, 1, 1, 1, 1, 0])
    cut_off = {
        "the incorrect answer of .3 is truncated: counted as incorrect": tilted(masked, right, beta),
        "it is masked, the KL in the loss, as by TRL": masked_policy(
            masked, right, finished, beta, in_loss=True
        ),
        "it is masked, the KL in the reward": masked_policy(masked, right, finished, beta),
    }
    rows += [(what, f"{law[:3].sum():.3f}", f"{law[5]:.3f} truncated") for what, law in cut_off.items()]
    return Table.from_rows(("what is set", "pass rate", "what happens"), rows).markdown()


def pictures() -> dict[Path, str]:
    """The files of all figures' pictures with what they should be: as wide as a telephone."""
    figures = map(figure, NAMES)
    drawings = {drawn.name: drawn.drawing(drawn.numbers(Records()), Sheet(PHONE)) for drawn in figures}
    return {DOCS / "img" / f"{name}.svg": svg(drawing) for name, drawing in drawings.items()}


def svg(drawing: Drawing) -> str:
    """A drawing as SVG, its lines to a tenth of a point."""
    text = rendered(drawing, "svg").decode()
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), text)


def compile_proofs() -> None:
    """Compile the Coq proofs where their record is of other files or theorems, and Coq is installed."""
    proved, refuted = tied_names()
    record = recorded() if RECORD.is_file() else None
    complete = record and record.files == sources.hashes() and all(map(record.named, proved + refuted))
    if compiler.installed() and not complete:
        printer.compiled(proved, refuted).write()
        recorded.cache_clear()


def main() -> None:
    """Write the files that are not as they should be."""
    compile_proofs()
    for path, text in (generated() | pictures()).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
