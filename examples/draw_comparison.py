"""What training changed, as a figure: Pass@k of both checkpoints in the house style, from stored numbers.

Run: dph compare BASE.jsonl RUN.jsonl --json found.json
     python examples/draw_comparison.py found.json pass_at_k.pdf
"""

import json
import sys
from pathlib import Path

from figures.style import Sheet, curve, level, look
from figures.venues import VENUES


def main(stored: Path, drawing: Path) -> None:
    """Left Pass@k, right its difference with the band at all k at once; in any format of matplotlib."""
    runs = json.loads(stored.read_text())["results"]["runs"]
    base, sheet = runs[0]["base"]["name"], Sheet(VENUES["icml"])
    with sheet.look():
        left, right = sheet.panels(2, height=2.5)
        left.plot(runs[0]["curves"]["k"], runs[0]["curves"]["base"], label=base, **look("base"))
        level(right, 0)
        for place, run in enumerate(runs):
            curves, style = run["curves"], look(run["run"]["name"], color=f"C{place}")
            left.plot(curves["k"], curves["run"], label=run["run"]["name"], **style)
            curve(right, *(curves[name] for name in ("k", "difference", "low", "high")), **style)
        left.set(ylabel="Pass@$k$", title=f"{runs[0]['prompts']} prompts")
        right.set(ylabel=f"Pass@$k$ less that of {base}", title="95% bands over all $k$")
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xlabel("answers $k$")
        sheet.legend([left, right])
        sheet.finished().savefig(drawing)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
