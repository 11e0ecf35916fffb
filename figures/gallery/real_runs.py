"""Without a KL one answer is left, and a run's other prompts name it.

Public runs of others (wheel remax-rl), three models on five domains, no KL. Left: the strategy that each run
of Qwen2.5-0.5B is left with on each prompt of pantry, a colour a strategy, white where it is not solved: one
for all prompts, and not the same in every run. Right: how often a run's other prompts name what is left
(dots), and how often after what is left has been dealt anew to the runs that solve each prompt (strokes).
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Sheet, rows

NEEDS = ("real_runs",)
_COLORS = ("white", BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)


def numbers(records: Records) -> dict[str, Any]:
    """What is left in one domain, (runs, prompts), and the measures of all at Level 1 that show noise."""
    stored = records.results("real_runs")
    frame = pd.DataFrame(stored["groups"])
    frame = frame[~frame.replay & (frame.level == "level1") & frame.p_varied_holm.notna()]
    domains = frame.assign(words=[f"{row.model}, {row.domain.split('_')[0]}" for row in frame.itertuples()])
    return {"left": np.array(stored["matrix"]["left"]), "measures": domains[domains.p_varied_holm < 0.05]}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """The matrix of what is left, its strategies by how often; named against shuffled."""
    measures = numbers["measures"].sort_values("named", ascending=False)
    left, right = sheet.panels(2, height=0.9 + 0.17 * len(measures))
    counts = np.bincount(numbers["left"][numbers["left"] >= 0])
    rank = {strategy: min(i, len(_COLORS) - 1) for i, strategy in enumerate(np.argsort(-counts), start=1)}
    shown = np.vectorize(lambda answer: rank.get(answer, 0))(numbers["left"])
    left.imshow(shown, aspect="auto", cmap=ListedColormap(_COLORS), vmin=0, vmax=len(_COLORS) - 1)
    left.set(xlabel="prompts", ylabel="runs", yticks=[], title="strategy left")
    right.plot(measures.named, range(len(measures)), "o", color=BLUE, label="as they are")
    right.plot(measures.named_shuffled, range(len(measures)), "|", color="black", label="runs shuffled")
    rows(right, measures.words.tolist())
    right.set(xlabel="named by other prompts", xlim=(0, 1.05))
    sheet.legend([right], 2)


def table(numbers: dict[str, Any]) -> Table:
    """The measures of each model and domain in which sampling noise shows."""
    names = {"words": "model, domain", "own": "a run agrees", "pairs": "runs keep the same", "named": "named"}
    names |= {"named_shuffled": "shuffled", "varied": "variance over pairs"}
    return tabled(numbers["measures"], names)


def claim(numbers: dict[str, Any]) -> bool:
    """Every solving run of the matrix has one strategy; other prompts name more than shuffled ones."""
    one = all(len(set(row[row >= 0])) == 1 for row in numbers["left"])
    return one and bool((numbers["measures"].named > numbers["measures"].named_shuffled).mean() > 0.5)
