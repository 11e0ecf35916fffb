"""Where training with a KL penalty ends: the three laws, and a real Llama trained by each form (E2, E3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from dph_theory import FORWARD_KL
from dph_theory.laws import filtered_law, locally_filtered, sequence_law, token_forward_limit, token_law
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import FORMS, LAWS, Array, LawRun, Records
from ..style import theme

TASK = "selection-2"
LOOKS: dict[str, dict[str, Any]] = {
    "k3": {"color": theme.BLUE, "linestyle": "-", "marker": "o"},
    "k3_corrected": {"color": theme.VERMILLION, "linestyle": "--", "marker": "s"},
    "sequence_kl": {"color": theme.GREEN, "linestyle": "-.", "marker": "^"},
}
"""The forms that are drawn, each with its law, which has its place in LAWS."""


@dataclass(frozen=True, kw_only=True)
class LawsConfig(FigureConfig):
    """The base: the first token's probability, and that of ending valid after each; the betas."""

    first: float = 0.5
    valid_after: tuple[float, float] = (0.9, 0.1)
    betas: tuple[float, float] = (0.015, 1.5)
    points: int = 120
    beta: float = 0.2


@dataclass(frozen=True, kw_only=True)
class LawsLaw:
    """A law with the form that obeys it: validity and P(first|valid) along betas, and the latter's limit."""

    law: str
    form: str
    validity: Array
    first_share: Array
    limit: float


@dataclass(frozen=True, kw_only=True)
class LawsPoint:
    """A run at its end."""

    form: str
    beta: float
    validity: float
    first_share: float


@dataclass(frozen=True, kw_only=True)
class LawsRow:
    """A form's runs at one beta: mean KL(run || law) by LAWS, in nats, and its own law's place there."""

    form: str
    runs: int
    own: int
    kl: Array


@dataclass(frozen=True, kw_only=True)
class LawsNumbers:
    """The laws along betas, the runs, and the matrix of their distances."""

    betas: Array
    laws: tuple[LawsLaw, ...]
    points: tuple[LawsPoint, ...]
    matrix: tuple[LawsRow, ...]


def compute(config: LawsConfig, records: Records) -> LawsNumbers:
    """The laws' validity and P(first|valid) by beta, the measured runs, and the mean KL(run || law)."""
    betas = np.geomspace(*config.betas, config.points)
    runs = records.laws.of("which_law", "limits", task=TASK)
    at = [run for run in runs if run.experiment == "which_law" and run.beta == config.beta]
    return LawsNumbers(
        betas=betas,
        laws=_laws(config, betas),
        points=tuple(
            LawsPoint(form=run.form, beta=run.beta, validity=run.validity, first_share=run.first_share)
            for run in runs
            if run.form in LOOKS
        ),
        matrix=tuple(
            _row([run for run in at if run.form == form])
            for form in FORMS
            if any(run.form == form for run in at)
        ),
    )


def _laws(config: LawsConfig, betas: np.ndarray) -> tuple[LawsLaw, ...]:
    first, then = config.first, np.array(config.valid_after)
    base = [np.array([first, 1 - first]), np.stack([then, 1 - then], axis=-1)]
    valid = np.array([[1, 0], [1, 0]], dtype=bool)
    batch = [np.broadcast_to(table, (betas.size, *table.shape)) for table in base]
    accepted = np.broadcast_to(valid, (betas.size, *valid.shape))
    curves = (
        token_law(batch, accepted, betas, FORWARD_KL),
        token_law(batch, accepted, betas),
        sequence_law(batch, accepted, betas),
    )
    limits = [
        _measured(limit(base, valid)) for limit in (token_forward_limit, locally_filtered, filtered_law)
    ]
    found = []
    for law, form, curve, (_, limit) in zip(LAWS, LOOKS, map(_measured, curves), limits, strict=True):
        validity, share = curve
        found.append(LawsLaw(law=law, form=form, validity=validity, first_share=share, limit=float(limit)))
    return tuple(found)


def _measured(law: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Validity and P(first|valid) of next-token tables."""
    mass = law[0] * law[1][..., 0]
    validity = mass.sum(axis=-1)
    return validity, mass[..., 0] / validity


def _row(runs: Sequence[LawRun]) -> LawsRow:
    kl = np.mean([[run.kl[law] for law in LAWS] for run in runs], axis=0)
    return LawsRow(form=runs[0].form, runs=len(runs), own=LAWS.index(runs[0].law or ""), kl=kl)


def table(results: LawsNumbers) -> Table:
    """Mean KL(run || law) by form, and whether the law predicted is the nearest."""
    rows = []
    for row in results.matrix:
        words = (FORMS[row.form], float(row.runs), LAWS[row.own], LAWS[int(row.kl.argmin())])
        rows.append([*words, *row.kl.tolist()])
    return Table.of(("form", "runs", "law predicted", "nearest", *(f"KL to {law}" for law in LAWS)), rows)


def draw(config: LawsConfig, results: LawsNumbers) -> Drawing:
    """Validity against 1/beta; P(first|valid) against beta, with its limits; the matrix of KL(run || law)."""
    drawing, (left, middle, right) = theme.new(height=2.7, ncols=3, width_ratios=(1, 1, 1.1))
    betas = results.betas
    for law in results.laws:
        how = LOOKS[law.form]
        color = how["color"]
        line = {"color": color, "linestyle": how["linestyle"]}
        left.plot(1 / betas, law.validity, **line, label=f"{law.law} (law)")
        middle.plot(betas, law.first_share, **line)
        end, below = (betas[0], law.limit), law.form == "k3"
        middle.plot(*end, marker=4, color=color, markersize=5, clip_on=False)
        middle.annotate(
            f"{law.limit:.3g}", end, (4, -11 if below else 4), textcoords="offset points", color=color
        )
        of = [point for point in results.points if point.form == law.form]
        beta = np.array([point.beta for point in of])
        dots = {"marker": how["marker"], "color": color, "linestyle": "none", "markerfacecolor": "white"}
        left.plot(1 / beta, [point.validity for point in of], label=FORMS[law.form], **dots)
        middle.plot(beta, [point.first_share for point in of], **dots)
    left.set(xscale="log", xlabel=r"$1/\beta$", ylabel="pass rate", title="How often it is right")
    middle.set(xscale="log", xlabel=r"$\beta$", ylabel="P(first | valid)", title="What it keeps")
    _matrix(right, results.matrix)
    right.set_title(rf"KL(run || law) in nats, $\beta = {config.beta:g}$")
    drawing.legend(loc="outside lower center", ncols=3)
    return drawing


def _matrix(axes: Axes, rows: Sequence[LawsRow]) -> None:
    """KL(run || law), darker where nearer; the law predicted in a frame."""
    kl = np.array([row.kl for row in rows])
    axes.pcolormesh(np.log10(kl), cmap="Blues_r", vmin=-5, vmax=0.5)
    axes.invert_yaxis()
    for (row, law), value in np.ndenumerate(kl):
        color = "white" if value < 10**-2.5 else theme.BLACK
        axes.text(
            law + 0.5,
            row + 0.5,
            f"{value:.1g}",
            ha="center",
            va="center",
            fontsize=theme.points(7),
            color=color,
        )
    for number, row in enumerate(rows):
        corner = (row.own + 0.03, number + 0.03)
        axes.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=theme.VERMILLION, linewidth=1.4))
    axes.set_xticks(np.arange(len(LAWS)) + 0.5, [law.replace(" ", "\n", 2) for law in LAWS])
    axes.set_yticks(np.arange(len(kl)) + 0.5, [_lines(FORMS[row.form]) for row in rows])


def _lines(words: str) -> str:
    for cut in (" in the ", " with "):
        words = words.replace(cut, f"\n{cut.strip()} ")
    return words


FIGURE = Figure(
    name="laws",
    title="Where the KL penalty stands decides at which law training ends",
    caption=(
        "A small Llama trained by TRL's GRPOTrainer on answers of two tokens, of which the first decides "
        "whether the answer is valid with probability .9 or .1; every answer is enumerated. Lines are the "
        "laws of theory E, computed from the base before training, and points are runs, one a seed, by where "
        "the KL penalty stands: the pass rate against 1/beta (left), and the share of the first answer among "
        "the valid ones, with each law's limit as beta falls as a triangle (middle). Right: mean KL(run || "
        "law) in nats over the seeds; the framed law is the one predicted for the form."
    ),
    results=LawsNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=LawsConfig(),
    quick=LawsConfig(points=20),
    needs=("laws",),
)
