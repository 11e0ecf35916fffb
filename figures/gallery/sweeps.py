"""Divergences differ where the penalty is weak; a strong one on all prompts costs Pass@1.

The penalty is a divergence from the base, added to the loss with weight eta; its coefficient is eta f''(1).
Prompt types share strategies, and gradients are exact. Pass@16 and Pass@1 after training are shown along the
coefficient of the penalty, which acts on D_pef, the prompts that the base solves (left), or on all prompts
(right); the alpha-divergence has alpha = 0.5. The table also has the tiny transformer, trained from one base
at two coefficients, so that its differences include the noise of one seed.
"""

from typing import Any

import pandas as pd

from dph_theory.support.record import from_json
from dph_theory.support.table import Table
from toy_lm.strategies.results import StrategiesConfig, method, swept

from ..frames import Records, tabled
from ..style import Sheet, curve, level, look, written

NEEDS = ("strategies", "styles")
# Words for the prompts on which a penalty acts.
PLACES = {"D_pef": "On what the base solves", "all prompts": "On all prompts"}
MEASURES = {"pass_at_k": "Pass@16", "pass_at_1": "Pass@1"}
# Divergence of a method of the tiny transformer.
TINY = {"DPH-F": "forward KL", "DPH-JS": "JS", "DPH-alpha": "alpha", "reverse": "reverse KL"}


def numbers(records: Records) -> dict[str, Any]:
    """Both models: one row per divergence, place and coefficient; the final strategies without a penalty."""
    record = records.record("strategies")
    config, exact = from_json(StrategiesConfig, record["config"]), record["results"]
    strategies = swept(config, exact["sweep"]).rename(columns={"direction": "divergence"})
    tiny = records.styles.query(
        "split == 'train' and seed == seed.min() and name in @TINY and strength.notna()"
    )
    places = tiny.place.map({"rehearsed": "D_pef", "all": "all prompts"})
    columns = {"place": places, "divergence": tiny.name.map(TINY), "strength": tiny.strength}
    columns |= {"pass_at_1": tiny[1], "pass_at_k": tiny[16]}
    both = {"strategies": strategies, "tiny transformer, one seed": pd.DataFrame(columns)}
    points = pd.concat([frame.assign(model=name) for name, frame in both.items()], ignore_index=True)
    return {"points": points, "base": exact["base"], "none": method(exact, "GRPO")}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Strategies: Pass@16 and Pass@1 along the coefficient, one line per divergence, one column per place."""
    panels = sheet.panels(4, height=1.9, across=2, sharex=True, sharey="row").reshape(2, 2)
    points = numbers["points"][numbers["points"].model == "strategies"]
    for row, (measure, words) in zip(panels, MEASURES.items(), strict=True):
        for axes, place in zip(row, PLACES, strict=True):
            for name in TINY.values():
                line = points[(points.place == place) & (points.divergence == name)].sort_values("strength")
                curve(axes, line.strength, line[measure], **look(name, label=written(name), markersize=3.2))
            level(axes, numbers["base"][measure], label="base")
            level(axes, numbers["none"][measure], label="no penalty", linestyle=(0, (5, 2)))
            axes.set(xscale="log")
        row[0].set_ylabel(words)
    for axes, words in zip(panels[0], PLACES.values(), strict=True):
        axes.set_title(words)
    for axes in panels[1]:
        axes.set_xlabel(r"coefficient $\eta f''(1)$")
    sheet.legend([panels[0, 0]], 6)


def worth(numbers: dict[str, Any]) -> pd.DataFrame:
    """Spread of Pass@16 over divergences on D_pef, and change on all prompts, by model and coefficient."""
    keys = {"index": ["model", "strength"], "columns": ["place", "divergence"]}
    wide = numbers["points"].pivot_table(**keys, values=[*MEASURES]).dropna()
    solved, everywhere = ({m: wide[m][place] for m in MEASURES} for place in PLACES)
    spread = solved["pass_at_k"].max(axis=1) - solved["pass_at_k"].min(axis=1)
    gains = {m: (everywhere[m] - solved[m]).mean(axis=1) for m in MEASURES}
    return pd.DataFrame({"spread": spread, **gains}).reset_index()


def table(numbers: dict[str, Any]) -> Table:
    """Place against divergence, by coefficient."""
    heads = ("Pass@16: divergence, at most", "Pass@16: all prompts", "Pass@1: all prompts")
    shown = worth(numbers)
    return tabled(shown, dict(zip(shown, ("model", "coefficient", *heads), strict=True)))


def claim(numbers: dict[str, Any]) -> bool:
    """Divergences differ only below coefficient .3; the strongest penalty on all prompts costs Pass@1."""
    exact = worth(numbers).query("model == 'strategies'")
    strongest = exact.pass_at_1[exact.strength.idxmax()]
    return bool(exact.strength[exact.spread > 0.03].max() < 0.3 and strongest < -0.1)
