"""The blocks of the page "What do real runs retain?", all from the stored record of `make real-runs`."""

from collections.abc import Mapping, Sequence
from typing import Any

from dph_theory.support.table import Table
from figures.frames import Records

MODELS = {"falcon1b": "Falcon3-1B", "qwen05b": "Qwen2.5-0.5B", "qwen3b": "Qwen-3B"}
DOMAINS = {"graph_coloring": "graph colouring", "pantry_plan": "pantry", "mathir": "algebra"}
DOMAINS |= {"countdown": "countdown", "python_factors": "Python factors"}
ACCOUNTS = {
    "kept": "kept",
    "likeliest": "likeliest",
    "a lottery a prompt": "a draw a prompt",
    "shared, by merit": "shared, by merit",
    "shared, by luck": "shared, by chance",
    "shared, merit with luck": "shared, merit with chance",
}
"""The accounts by their names in the record, and in words."""
SIMULATED = {
    "own": "two correct answers of a run agree",
    "with_base": "one of the base and one of the run",
    "pairs": "two runs keep the same answer",
    "likeliest": "the base's likeliest is left",
    "named": "other prompts name it",
    "named_shuffled": "runs shuffled",
    "varied": "variance over pairs of runs",
    "varied_shuffled": "runs shuffled ",
    "any_less_pass_1": "Pass@11 less Pass@1",
}
CLEAR = 10
"""Of fewer prompts on which the base's likeliest is known nothing is said of it."""
Group = Mapping[str, Any]


def blocks() -> dict[str, str]:
    """The blocks by name."""
    told = Records().results("real_runs")
    plain = [of for of in told["groups"] if not of["replay"]]
    judged = [of for of in plain if "verdicts" in of]
    held = [
        (number, "matched" if each["held"] else "missed", each["found"])
        for number, each in enumerate(told["predicted"], start=1)
    ]
    return {
        "accounts": _table(
            ("account", *SIMULATED.values()),
            [
                (ACCOUNTS.get(name, name), *(f"{of[key]:.2f}" for key in SIMULATED))
                for name, of in told["accounts"].items()
            ],
        ),
        "measures": _measures(plain),
        "verdicts": _table(
            ("model, domain", *ACCOUNTS.values()),
            [
                *((_name(of), *(of["verdicts"].get(name, "-") for name in ACCOUNTS)) for of in judged),
                *(
                    (f"{word}, of {len(judged)}", *(_often(judged, name, word) for name in ACCOUNTS))
                    for word in ("holds", "refuted")
                ),
            ],
        ),
        "predicted": _table(("prediction", "", "found"), held),
        "sentences": "\n".join(f"- {line}" for line in _sentences(told)),
        "deepscaler": _deepscaler(told["deepscaler"]),
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return Table.from_rows(head, rows).markdown()


def _name(of: Group) -> str:
    return f"{MODELS[of['model']]}, {DOMAINS[of['domain']]}" + ", Level 2" * (of["level"] == "level2")


def _often(judged: Sequence[Group], name: str, word: str) -> str:
    return str(sum(of["verdicts"].get(name) == word for of in judged))


def _measures(plain: Sequence[Group]) -> str:
    head = {
        "model, domain": _name,
        "one answer left": lambda of: f"{of['one_left']} of {of['solving']}",
        "a run agrees (base)": lambda of: _beside(of, "own", "base_agrees"),
        "two runs keep the same (pairs)": lambda of: _beside(of, "pairs", "least", "most", joined=" to "),
        "other prompts name it (shuffled)": lambda of: _beside(of, "named", "named_shuffled"),
        "variance over pairs (shuffled)": lambda of: _beside(of, "varied", "varied_shuffled", form=".3f"),
        "base's likeliest (of prompts)": lambda of: _likeliest(of),
        "merit left (base, best)": lambda of: _beside(of, "merit", "base_merit", "best_merit"),
        "Pass@1, Pass@11": lambda of: (
            f"{of['base_pass_1']:.2f} to {of['pass_1']:.2f}, {of['base_any']:.2f} to {of['any']:.2f}"
        ),
    }
    return _table(tuple(head), [tuple(cell(of) for cell in head.values()) for of in plain])


def _beside(of: Group, name: str, *beside: str, form: str = ".2f", joined: str = ", ") -> str:
    """A number, and in brackets those beside it."""
    if of.get(name) is None:
        return "-"
    others = [format(of[other], form) for other in beside if of.get(other) is not None]
    return format(of[name], form) + (f" ({joined.join(others)})" if others else "")


def _likeliest(of: Group) -> str:
    return "-" if of["likeliest_of"] < CLEAR else f"{of['likeliest']:.2f} ({of['likeliest_of']:.0f})"


def _sentences(told: Mapping[str, Any]) -> list[str]:
    """What was found at Level 1, in numbers."""
    plain = [of for of in told["groups"] if not of["replay"] and of["level"] == "level1"]
    one, solving = (sum(of[name] for of in plain) for name in ("one_left", "solving"))
    runs = [
        run for run in told["runs"] if not run["method"].startswith("replay") and run["level"] == "level1"
    ]
    clear = [run for run in runs if run["p"] < 0.05 and run["pass_1"][1] > run["pass_1"][0]]
    falls, rises = (sum(sign * (run["lost"] - run["gained"]) > 0 for run in clear) for sign in (1, -1))
    small = sum(run["any"][1] - run["pass_1"][1] <= 0.1 for run in runs)
    changes = [each["any"] for each in told["replay"] if each["level"] == "level1"]
    raised, lowered = sum(x["low"] > 0 for x in changes), sum(x["high"] < 0 for x in changes)
    lucky = [of["p_varied_holm"] for of in plain if of.get("p_varied_holm") is not None]
    leads = [of for of in plain if of.get("best") is not None]
    above, best, never = (
        sum(test(of) for of in leads)
        for test in (lambda of: of["above"] >= 0.9, lambda of: of["best"] == 1, lambda of: of["best"] == 0)
    )
    data, shared = told["data"]["level1"], told["data"]["level1"]["variance"]
    judged = [of["verdicts"] for of in told["groups"] if "verdicts" in of]
    alone, shared_ones = (
        sum(any(of.get(name) == "holds" for name in names) for of in judged)
        for names in ([*ACCOUNTS][:3], [*ACCOUNTS][3:])
    )
    return [
        f"*One correct answer a prompt is left* in {one} of {solving} runs that solve ten prompts or more.",
        f"*Chance acts once a run* in {sum(p < 0.05 for p in lucky)} of {len(lucky)} models and "
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
        f"*The data are not what they say*: of the answers stored, {data['repeated']:,} of "
        f"{data['of']:,} at neighbouring places repeat the group before, so that 32 are 11; and the k-th "
        f"answers to all prompts share their random numbers in {data['bases_shared']} of {data['bases']} "
        f"bases, whose pass rates have {shared['median']:.1f} times the sampling variance of independent "
        f"ones (median; at most {shared['most']:.0f}). A Pass@32 of these files is a Pass@11 in disguise.",
    ]


def _deepscaler(of: Mapping[str, Any]) -> str:
    theirs, ours = of["theirs"], of["ours"]
    table = _table(
        ("Pass@k of the run is", "published (Table 1, 32k fresh), recomputed", "`dph confront`"),
        [
            ("better up to k", theirs["better"][1], ours["better"][1]),
            ("worse from k", theirs["worse"][0], ours["worse"][0]),
            ("first worse in", *("{} to {}".format(*side["first_worse"]) for side in (theirs, ours))),
        ],
    )
    before, after = of["mixed"]
    lines = "\n".join(of["lines"])
    return (
        f"{table}\n\n```text\n{lines}\n```\n\nAll as predicted. It has not collapsed: {after:.0%} of the "
        f"prompts still have correct and incorrect answers (base {before:.0%})."
    )
