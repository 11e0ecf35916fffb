"""Without a KL a run is left with one strategy on all prompts, and which one it is differs by seed.

Public runs of others (wheel remax-rl), three models on five domains, no KL. Left: the strategy that each run
of Qwen2.5-0.5B is left with on each prompt of pantry, a shade and a letter a strategy, white where it is not
solved. Right: how often the strategy left on a prompt is the one most frequent on the run's other prompts
(dots), and how often after the strategies have been dealt anew to the runs that solve each prompt (strokes).
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLUE, Sheet, rows

NEEDS = ("real_runs",)
_SHADES = ("white", "#08306B", "#4A98C9", "#ABCFE6")
"""Of an unsolved prompt, and of strategies: as far apart in grey as in colour."""


def numbers(records: Records) -> dict[str, Any]:
    """What is left in one domain, (runs, prompts), and the measures of all at Level 1 that show noise."""
    stored = records.results("real_runs")
    frame = pd.DataFrame(stored["groups"])
    frame = frame[~frame.replay & (frame.level == "level1") & frame.p_varied_holm.notna()]
    domains = frame.assign(words=[f"{row.model}, {row.domain.split('_')[0]}" for row in frame.itertuples()])
    return {"left": np.array(stored["matrix"]["left"]), "measures": domains[domains.p_varied_holm < 0.05]}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """The matrix of what is left, its strategies by how often; named against shuffled."""
    measures, left_over = numbers["measures"].sort_values("named", ascending=False), numbers["left"]
    left, right = sheet.panels(2, height=0.9 + 0.17 * len(measures))
    counts = np.bincount(left_over[left_over >= 0])
    places = {strategy: place for place, strategy in enumerate(np.argsort(-counts), start=1)}
    shades = np.vectorize(lambda answer: min(places.get(answer, 0), len(_SHADES) - 1))(left_over)
    shades = shades[np.argsort(shades.max(axis=1), kind="stable")]
    left.imshow(shades, aspect="auto", cmap=ListedColormap(_SHADES), vmin=0, vmax=len(_SHADES) - 1)
    left.set(xlabel="prompts", ylabel="runs, by their strategy", title="Strategy left")
    left.set_yticks(range(len(shades)), ["-ABC"[shade] for shade in shades.max(axis=1)], fontsize=6)
    right.plot(measures.named, range(len(measures)), "o", color=BLUE, label="as they are")
    right.plot(measures.named_shuffled, range(len(measures)), "|", color="black", label="runs shuffled")
    rows(right, measures.words.tolist())
    right.set(xlabel="same strategy as on other prompts", xlim=(0, 1.05))
    sheet.legend([right], 2)


def table(numbers: dict[str, Any]) -> Table:
    """The measures of each model and domain in which sampling noise shows."""
    names = {"words": "model, domain", "own": "a run agrees", "pairs": "runs retain the same"}
    names |= {"named": "same on other prompts", "named_shuffled": "shuffled", "varied": "variance over pairs"}
    return tabled(numbers["measures"], names)


def claim(numbers: dict[str, Any]) -> bool:
    """Every solving run of the matrix has one strategy; other prompts name more than shuffled ones."""
    one = all(len(set(row[row >= 0])) == 1 for row in numbers["left"])
    return one and bool((numbers["measures"].named > numbers["measures"].named_shuffled).mean() > 0.5)
