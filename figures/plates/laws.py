"""Where training with a KL penalty ends: the three laws, and a real Llama trained by each form (E2, E3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory import FORWARD_KL
from dph_theory.laws import filtered_law, locally_filtered, sequence_law, token_forward_limit, token_law

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record
from ..results.laws import FORMS, LAWS, runs

TASK = "selection-2"
LOOKS: dict[str, dict[str, Any]] = {
    "k3": {"color": theme.BLUE, "linestyle": "-", "marker": "o"},
    "k3_corrected": {"color": theme.VERMILLION, "linestyle": "--", "marker": "s"},
    "sequence_kl": {"color": theme.GREEN, "linestyle": "-.", "marker": "^"},
}
"""The forms that are drawn, each with its law, which has its place in LAWS."""


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The laws' validity and P(first|valid) by beta, the measured runs, and the mean KL(run || law)."""
    first, then = config["first"], np.asarray(config["valid_after"])
    base = [np.array([first, 1 - first]), np.stack([then, 1 - then], axis=-1)]
    valid = np.array([[1, 0], [1, 0]], dtype=bool)
    low, high = config["betas"]
    betas = np.geomspace(low, high, config["points"])
    batch = [np.broadcast_to(table, (betas.size, *table.shape)) for table in base]
    accepted = np.broadcast_to(valid, (betas.size, *valid.shape))
    curves = (
        token_law(batch, accepted, betas, FORWARD_KL),
        token_law(batch, accepted, betas),
        sequence_law(batch, accepted, betas),
    )
    limits = (token_forward_limit, locally_filtered, filtered_law)
    laws = [
        {"law": law, "form": form, **_measured(curve), "limit": _measured(limit(base, valid))["first_share"]}
        for law, form, curve, limit in zip(LAWS, LOOKS, curves, limits, strict=True)
    ]
    points = [
        {name: run[name] for name in ("form", "beta", "seed", "validity", "first_share")}
        for run in runs(records["laws"], "which_law", "limits", task=TASK)
        if run["form"] in LOOKS
    ]
    at = runs(records["laws"], "which_law", task=TASK, beta=config["beta"])
    rows = [(form, [run for run in at if run["form"] == form]) for form in FORMS]
    matrix = [
        {
            "form": form,
            "own": LAWS.index(found[0]["law"]),
            "runs": len(found),
            "kl": [float(np.mean([run[f"kl {law}"] for run in found])) for law in LAWS],
        }
        for form, found in rows
        if found
    ]
    return {
        "betas": betas.tolist(),
        "laws": laws,
        "points": points,
        "matrix": {"beta": config["beta"], "rows": matrix},
    }


def _measured(law: list[np.ndarray]) -> dict[str, Any]:
    """Validity and P(first|valid) of next-token tables."""
    mass = law[0] * law[1][..., 0]
    validity = mass.sum(axis=-1)
    return {"validity": validity.tolist(), "first_share": (mass[..., 0] / validity).tolist()}


def findings(results: Mapping[str, Any]) -> list[str]:
    """How often the nearest law is the one predicted, and how near it is."""
    rows = results["matrix"]["rows"]
    own = [row["kl"][row["own"]] for row in rows]
    rivals = [min(kl for law, kl in enumerate(row["kl"]) if law != row["own"]) for row in rows]
    nearest = sum(mine < other for mine, other in zip(own, rivals, strict=True))
    return [
        f"At beta {results['matrix']['beta']:g} the law predicted is the nearest for {nearest} of "
        f"{len(rows)} forms: KL(run || law) is at most {max(own):.2g} nats, and at least "
        f"{min(rivals):.2g} to a rival.",
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """Validity against 1/beta; P(first|valid) against beta, with its limits; the matrix of KL(run || law)."""
    results = record["results"]
    drawing, (left, middle, right) = theme.new(height=2.7, ncols=3, width_ratios=(1, 1, 1.1))
    betas = np.asarray(results["betas"])
    for law in results["laws"]:
        how = LOOKS[law["form"]]
        line = {"color": how["color"], "linestyle": how["linestyle"]}
        left.plot(1 / betas, law["validity"], **line, label=f"{law['law']} (law)")
        middle.plot(betas, law["first_share"], **line)
        middle.plot(betas[0], law["limit"], marker=4, color=how["color"], markersize=5, clip_on=False)
        middle.annotate(
            f"{law['limit']:.3g}",
            (betas[0], law["limit"]),
            (4, -11 if law["form"] == "k3" else 4),
            textcoords="offset points",
            color=how["color"],
        )
        of = [point for point in results["points"] if point["form"] == law["form"]]
        dots = {
            "marker": how["marker"],
            "color": how["color"],
            "linestyle": "none",
            "markerfacecolor": "white",
        }
        left.plot([1 / p["beta"] for p in of], [p["validity"] for p in of], label=FORMS[law["form"]], **dots)
        middle.plot([p["beta"] for p in of], [p["first_share"] for p in of], **dots)
    left.set(xscale="log", xlabel=r"$1/\beta$", ylabel="validity", title="Pass rate")
    middle.set(xscale="log", xlabel=r"$\beta$", ylabel="P(first | valid)", title="What is selected")
    _matrix(right, results["matrix"])
    drawing.legend(loc="outside lower center", ncols=3)
    return drawing


def _matrix(axes: Axes, matrix: Mapping[str, Any]) -> None:
    """KL(run || law), darker where nearer; the law predicted in a frame."""
    kl = np.array([row["kl"] for row in matrix["rows"]])
    axes.pcolormesh(np.log10(kl), cmap="Blues_r", vmin=-5, vmax=0.5)
    axes.invert_yaxis()
    for (row, law), value in np.ndenumerate(kl):
        color = "white" if value < 10**-2.5 else theme.BLACK
        axes.text(law + 0.5, row + 0.5, f"{value:.1g}", ha="center", va="center", fontsize=7, color=color)
    for row, entry in enumerate(matrix["rows"]):
        axes.add_patch(_frame(entry["own"], row))
    axes.set_xticks(np.arange(len(LAWS)) + 0.5, [law.replace(" ", "\n", 2) for law in LAWS])
    axes.set_yticks(np.arange(len(kl)) + 0.5, [_lines(FORMS[row["form"]]) for row in matrix["rows"]])
    axes.set_title(rf"KL(run || law), $\beta = {matrix['beta']:g}$")


def _frame(law: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (law + 0.03, row + 0.03), 0.94, 0.94, fill=False, edgecolor=theme.VERMILLION, linewidth=1.4
    )


def _lines(words: str) -> str:
    for cut in (" in the ", " with "):
        words = words.replace(cut, f"\n{cut.strip()} ")
    return words


FIGURE = Figure(
    name="laws",
    title="The laws of training",
    caption=(
        "A small Llama trained by TRL's GRPOTrainer on answers of two tokens, all of which are enumerated; "
        "the base takes either first token with probability 1/2, and then ends valid with probability .9 or "
        ".1. Lines: the three laws of theory E, computed from the base before training. Points: runs, one a "
        "seed, whose KL penalty is plain k3 in the loss, k3 with the importance ratio, or the KL of the "
        "whole answer in the reward. Left: validity against 1/beta. Middle: the share of the first answer "
        "among the valid ones, with each law's limit as beta falls (triangles): the token forward limit, "
        "the locally filtered model, the filtered model. Right: mean KL(run || law) in nats over the seeds; "
        "the framed law is the one predicted of the form."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={"first": 0.5, "valid_after": (0.9, 0.1), "betas": (0.015, 1.5), "points": 120, "beta": 0.2},
    quick={"points": 20},
    needs=("laws",),
)
