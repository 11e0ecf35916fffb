"""Writes what is made, not typed: pages of findings and repairs, tables in pages, two pictures.

Run: python docs/generate.py (from anywhere; it writes only what has changed). Theorem pages, the API's and
the other pictures are made where the site is built (`docs/site.py`).
"""

import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dph_theory.binary_reward import tilted
from dph_theory.coq import compiler, printer, sources
from dph_theory.coq.record import RECORD, recorded
from dph_theory.finite_training import Rollouts, flow
from dph_theory.predict.interpretation import READERS, configuration_of
from dph_theory.stationary import (
    masked_policy,
    policy_after_resets,
    policy_at_temperature,
    policy_pass_rate,
    sequence_policy,
    tempered,
    truncated,
)
from dph_theory.support.table import Table
from dph_theory.trainers.kl_terms import SHOWN
from dph_theory.trainers.policy_losses import POLICY_LOSSES
from dph_theory.verification import pages
from dph_theory.verification.ties import tied_names
from figures.catalogue import figure
from figures.files import rendered
from figures.frames import Records
from figures.style import Sheet
from figures.venues import Venue

DOCS = Path(__file__).parent
sys.path.append(str(DOCS))
MADE = (
    "findings.md",
    "which-method.md",
    "will-my-run-lose-pass-at-k.md",
    "appendix/methods.md",
    "appendix/results.md",
)
"""Pages that are templates filled with stored numbers."""
PICTURES = ("transfer", "models", "divisors", "pretrained", "stationary_policies")
"""The figure that the README shows, and the first of the findings; the site makes the others."""


def generated() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    import measured
    import pilot_tables
    from public_runs import blocks

    made = {DOCS / "img" / f"{name}.svg": picture(name) for name in PICTURES} | written()
    made[DOCS.parent / measured.FILE] = measured.text(Records())
    term, proved = DOCS / "your-trainers-kl.md", DOCS / "proved.md"
    predict, defaulted = DOCS / "predict.md", DOCS / "appendix" / "trainers.md"
    real = DOCS / "appendix" / "real-runs.md"
    tables = (
        (proved, "from the registry and the files of the kernel", pages.in_kernel()),
        (DOCS / "appendix/papers.md", "from the registry", pages.papers()),
        (term, "from dph_theory/trainers/kl_terms.py", trainers()),
        (defaulted, "from dph_theory/predict/readers.py", defaults()),
        (predict, "from dph_theory/stationary/sampled.py", samplers()),
        (defaulted, "from figures/numbers/laws.json", sampled_runs()),
        *((real, f"{name} from figures/numbers/real_runs.json", text) for name, text in blocks().items()),
        *(
            (DOCS / f"{page}.md", f"{name} by docs/pilot_tables.py", text)
            for (page, name), text in pilot_tables.blocks().items()
        ),
    )
    for path, marker, text in tables:
        part = re.compile(rf"(?<={re.escape(marker)} -->\n).*?(?=<!-- end -->)", re.S)
        now = made.get(path) or path.read_text(encoding="utf-8")
        # Of an empty block a second match would be all up to the next one's end.
        made[path] = part.sub(lambda _, text=text: f"\n{text.strip()}\n\n", now, count=1)
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
    rows = [(term.trainer, term.flags, term.formula, term.stationary_kl, term.selects) for term in SHOWN]
    head = ("trainer", "flags", "term of a token", "minimises", "with a small beta converges to the")
    return Table.from_rows(head, rows).markdown()


def defaults() -> str:
    """The table of what each trainer does where its settings are silent."""
    clips = {form.trainer: form.formula for form in reversed(POLICY_LOSSES)}
    rows = []
    for name, reader in READERS.items():
        run = configuration_of({}, name)
        optimised, clip = run.objective, clips.get(run.trainer, "-")
        updates = "not given" if optimised.updates is None else f"{optimised.updates:g}"
        cells = (run.penalty, run.selects, optimised.advantage.words, clip, optimised.reduction, updates)
        warned = "; ".join(run.warnings) or "-"
        rows.append((run.trainer, run.version, *cells, optimised.sampler, warned, reader.files))
    head = (
        "trainer",
        "version",
        "KL",
        "converges to",
        "advantage",
        "policy loss",
        "reduction",
        "updates of a batch",
    )
    return Table.from_rows((*head, "sampler", "look out", "read in"), rows).markdown()


def samplers() -> str:
    """What settings of the sampler do to one prompt with three correct answers of six, at beta = .3."""
    base, right, beta, end = (
        [np.array([0.22, 0.12, 0.06, 0.3, 0.2, 0.1])],
        np.array([1, 1, 1, 0, 0, 0]),
        0.3,
        3e4,
    )
    cooler, cut = partial(tempered, temperature=0.6), partial(truncated, top_p=0.9)
    masked, finished = [0.22, 0.12, 0.06, 0.2, 0.1, 0.3], np.array([1, 1, 1, 1, 1, 0])

    def run(form: str, how: Rollouts, step: float | None = None) -> list[np.ndarray]:
        return flow(
            base, right, [end if step is None else 300.0], form=form, beta=beta, rollouts=how, step=step
        )[0]

    whole, verdict = (Rollouts(cooler, "sequence", corrects_penalty=on) for on in (True, False))
    laws = {
        "nothing": (sequence_policy(base, right, beta), "as predicted"),
        **{
            f"temperature {at:g}, of rollouts and log-probabilities, read out at 1": (
                policy_at_temperature(base, right, beta, at),
                f"as beta/{at:g}",
            )
            for at in (0.7, 1.3)
        },
        "rollouts alone at .6, KL in the reward": (run("sequence_kl", Rollouts(cooler)), "unchanged"),
        "the same, k2 in the loss": (run("k2", Rollouts(cooler)), "changed, to first order"),
        "and the answer's importance weight on reward and KL": (run("k2", whole), "restored"),
        "and that weight on the reward alone, as TRL corrects vLLM": (
            run("k2", verdict),
            "not restored: tends to 1",
        ),
        "top-p .9, no KL": (run("none", Rollouts(cut), 0.2), "as sampled 1, at full sampling about .9"),
        "top-p .9, KL in the reward": (run("sequence_kl", Rollouts(cut), 0.2), "about .9"),
        "the reference set to the policy four times": (
            policy_after_resets(base, right, beta, 5),
            "as beta/5, the base's proportions stay",
        ),
    }
    rows = [
        (what, f"{float(policy_pass_rate(law, right)):.3f}", words) for what, (law, words) in laws.items()
    ]
    plain, out = tilted(masked, right, beta), masked_policy(masked, right, finished, beta, in_loss=True)
    rewarded = masked_policy(masked, right, finished, beta)
    rows += [
        (
            "the incorrect answer of .3 is truncated: counted as incorrect",
            f"{plain[:3].sum():.3f}",
            f"{plain[5]:.3f} truncated",
        ),
        ("it is masked, the KL in the loss, as by TRL", f"{out[:3].sum():.3f}", f"{out[5]:.3f} truncated"),
        ("it is masked, the KL in the reward", f"{rewarded[:3].sum():.3f}", f"{rewarded[5]:.3f} truncated"),
    ]
    return Table.from_rows(("what is set", "pass rate", "what happens"), rows).markdown()


def sampled_runs() -> str:
    """The runs of a Llama under TRL by sampler: what was predicted, and where the seeds ended."""
    runs = Records().llama.runs_of("samplers")
    rows = []
    for (how, form, by), of in runs.groupby(["sampler", "form", "optimiser"], sort=False):
        ended = ", ".join(f"{rate:.3f}" for rate in of.validity)
        law = "-" if of.predicted.isna().all() else f"{of.predicted_validity.mean():.3f}"
        share = f"{of.first_share.mean():.3f}"
        at_law = "-" if of.predicted.isna().all() else f"{of.predicted_first_share.mean():.3f}"
        held = "-" if of.predicted.isna().all() else f"{(of.verdict == 'matched').sum()} of {len(of)}"
        rows.append((how, form, by, law, ended, at_law, share, held))
    head = (
        "sampler",
        "KL term",
        "by",
        "pass rate predicted",
        "reached",
        "first answer's share predicted",
        "reached",
        "matched",
    )
    return Table.from_rows(head, rows).markdown()


def picture(name: str) -> str:
    """A figure as SVG, drawn from the stored records; the README's as wide as a phone."""
    drawn, sheet = figure(name), Sheet(Venue(text=4.1)) if name == PICTURES[0] else None
    return rendered(drawn.drawing(drawn.numbers(Records()), sheet), "svg").decode()


def compile_kernel() -> None:
    """Compile the kernel where its record is of other files or theorems, and Coq is installed."""
    proved, refuted = tied_names()
    record = recorded() if RECORD.is_file() else None
    complete = record and record.files == sources.hashes() and all(map(record.named, proved + refuted))
    if compiler.installed() and not complete:
        printer.compiled(proved, refuted).write()
        recorded.cache_clear()


def main() -> None:
    """Write the files that are not as they should be."""
    compile_kernel()
    for path, text in generated().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
