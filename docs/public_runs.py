"""The blocks of the page "What do real runs retain?", all from the stored record of `make real-runs`."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dph_theory.intervals import mean_interval
from dph_theory.support.table import Table
from figures.frames import Records

MODELS = {"falcon1b": "Falcon3-1B", "qwen05b": "Qwen2.5-0.5B", "qwen3b": "Qwen-3B"}
DOMAINS = {"graph_coloring": "graph colouring", "pantry_plan": "pantry", "mathir": "algebra"}
DOMAINS |= {"countdown": "countdown", "python_factors": "Python factors"}
ACCOUNTS = ("kept", "likeliest", "a lottery a prompt")
"""The accounts by which each prompt decides by itself, named as in the record; by others prompts share."""
METHODS = {"maxrl": "MaxRL (over the mean)", "grpo": "GRPO (the std)", "drgrpo": "Dr. GRPO (nothing)"}
Group = Mapping[str, Any]


def blocks() -> dict[str, str]:
    """The blocks by name."""
    study = Records().results("real_runs")
    plain = [group for group in study["groups"] if not group["replay"]]
    predictions = [
        (number, "matched" if prediction["held"] else "missed", prediction["found"])
        for number, prediction in enumerate(study["predicted"], start=1)
    ]
    return {
        "measures": _measures(plain),
        "predicted": _table(("prediction", "", "in the runs"), predictions),
        "sentences": "\n".join(f"- {line}" for line in _sentences(study)),
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return Table.from_rows(head, rows).markdown()


def _name(group: Group) -> str:
    level = ", Level 2" if group["level"] == "level2" else ""
    return f"{MODELS[group['model']]}, {DOMAINS[group['domain']]}{level}"


def _measures(plain: Sequence[Group]) -> str:
    rows = [
        {
            "model, domain": _name(group),
            "one answer left": f"{group['one_left']} of {group['solving']}",
            "two runs alike (pairs)": _bracketed(group, "pairs", "least", "most", joined=" to "),
            "as on other prompts (shuffled)": _bracketed(group, "named", "named_shuffled"),
            "merit left (base, best)": _bracketed(group, "merit", "base_merit", "best_merit"),
            "Pass@1, Pass@11": "{base_pass_1:.2f} to {pass_1:.2f}, {base_any:.2f} to {any:.2f}".format(
                **group
            ),
        }
        for group in plain
    ]
    return _table(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _bracketed(group: Group, name: str, *compared: str, joined: str = ", ") -> str:
    """A number, and in brackets those beside it."""
    if group.get(name) is None:
        return "-"
    numbers = [f"{group[other]:.2f}" for other in compared if group.get(other) is not None]
    return f"{group[name]:.2f}" + (f" ({joined.join(numbers)})" if numbers else "")


def _sentences(study: Mapping[str, Any]) -> list[str]:
    """What was found at Level 1, in numbers; by divisor at both levels."""
    plain = [group for group in study["groups"] if not group["replay"] and group["level"] == "level1"]
    one, solving = (sum(group[name] for group in plain) for name in ("one_left", "solving"))
    runs = [
        run for run in study["runs"] if not run["method"].startswith("replay") and run["level"] == "level1"
    ]
    clear = [run for run in runs if run["p"] < 0.05 and run["pass_1"][1] > run["pass_1"][0]]
    falls, rises = (sum(sign * (run["lost"] - run["gained"]) > 0 for run in clear) for sign in (1, -1))
    small = sum(run["any"][1] - run["pass_1"][1] <= 0.1 for run in runs)
    changes = [cell["any"] for cell in study["replay"] if cell["level"] == "level1"]
    raised, lowered = sum(x["low"] > 0 for x in changes), sum(x["high"] < 0 for x in changes)
    p_varied = [group["p_varied_holm"] for group in plain if group.get("p_varied_holm") is not None]
    leads = [group for group in plain if group.get("best") is not None]
    above = sum(group["above"] >= 0.9 for group in leads)
    best, never = (sum(group["best"] == share for group in leads) for share in (1, 0))
    data, shared = study["data"]["level1"], study["data"]["level1"]["variance"]
    judged = [group["verdicts"] for group in study["groups"] if "verdicts" in group]
    alone, shared_ones = (
        sum(
            any(word == "holds" and (name in ACCOUNTS) is own for name, word in group.items())
            for group in judged
        )
        for own in (True, False)
    )
    return [
        f"*One correct answer a prompt is left* in {one} of {solving} runs that solve ten prompts or more.",
        f"*Chance acts once a run* in {sum(p < 0.05 for p in p_varied)} of {len(p_varied)} models and "
        "domains that show it: pairs of runs vary more than shuffled ones (below .05, Holm).",
        "*A policy that prompts share* (by merit, by chance or both) survives the rules below in "
        f"{shared_ones} of {len(judged)} models and domains, one for each prompt in {alone}.",
        f"*Merit selects*: in {above} of {len(leads)} models and domains nine of ten runs lead with more "
        f"merit than the base's correct answers have on average; in {best} all lead with the best "
        f"strategy, in {never} none does.",
        f"*Pass@1 up and Pass@11 down*, beyond chance, in {falls} of {len(runs)} runs, both up in "
        f"{rises} (McNemar, Holm); Pass@11 less Pass@1 is at most .10 in {small}. "
        '"Pass@k falls" is not the general statement; "one answer is left" is closer.',
        f"*Replay of found correct answers* raises Pass@11 in {raised} of {len(changes)} cells and lowers it "
        f"in {lowered} (95% intervals over seeds).",
        f"*What the advantage is divided by*, both levels, a cell a model and domain, 95% intervals: "
        f"{_by_divisor(study['runs'])}. What retains more of Pass@11 has more of Pass@1 as well here.",
        f"*The data are not what they say*: of the answers stored, {data['repeated']:,} of "
        f"{data['of']:,} at neighbouring places repeat the group before, so that 32 are 11; and the k-th "
        f"answers to all prompts share their random numbers in {data['bases_shared']} of {data['bases']} "
        f"bases, whose pass rates have {shared['median']:.1f} times the sampling variance of independent "
        f"ones (median; at most {shared['most']:.0f}). A Pass@32 of these files is a Pass@11 in disguise.",
    ]


def _by_divisor(runs: Sequence[Mapping[str, Any]]) -> str:
    """Differences of end Pass@11 and of Pass@1 between advantages: means over cells with 95% intervals."""
    frame = pd.DataFrame(runs)
    for name in ("any", "pass_1"):
        frame[name] = [ends[1] for ends in frame[name]]
    cells = frame.groupby(["level", "model", "domain", "method"])[["any", "pass_1"]].mean().unstack()
    sentences = []
    for one, other in (("maxrl", "grpo"), ("grpo", "drgrpo"), ("maxrl", "drgrpo")):
        differences = [(cells[name][one] - cells[name][other]).dropna() for name in ("any", "pass_1")]
        any_right, first = (
            "{:+.3f} ({:+.3f} to {:+.3f})".format(*mean_interval(difference.to_numpy()))
            for difference in differences
        )
        beside = f"{METHODS[one]} ends beside {METHODS[other]} in {len(differences[0])} cells"
        sentences.append(f"{beside} with Pass@11 {any_right}, Pass@1 {first}")
    return "; ".join(sentences)
