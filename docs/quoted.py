"""The numbers that pages quote, all from the stored records, by name for the pages in `docs/templates`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import measured
import numpy as np
import pandas as pd

from dph_theory.atlas import problems
from figures.frames import LlamaRuns, Records
from figures.gallery import (
    budget_and_family,
    collapse,
    direction,
    divisors,
    models,
    pretrained,
    stationary_policies,
    transfer,
    way_back,
)

DOCS = Path(__file__).parent
ALIKE, SHOWN_BETA, STRONG = 0.01, stationary_policies.BETA, 0.5
"""A difference of Pass@k below ALIKE is none; pages show SHOWN_BETA; from STRONG on most runs arrive."""
NEAR, ONE_LEFT = 0.05, 0.99
"""A training ends near its prediction within this total variation; one answer is left with this share."""
FORMS = {**stationary_policies.FORMS, "k2": "k2 in the loss", "future_kl": "corrected k3 with the future KL"}


def quoted(records: Records) -> dict[str, Any]:
    """Everything that the pages quote."""
    lost = way_back.table(way_back.numbers(records)).rows
    return {
        **_strategies(records),
        **_collapse(records),
        "styles": _styles(records),
        "pretrained": _pretrained(records),
        "transfer": _transfer(records),
        "fall": _fall(records),
        "laws": _small_llama(records.llama),
        "llama": _directions(records),
        "lost": [(row[0], row[1], *row[4:]) for row in lost],
        "budget": _budget(records),
        "demo": _demo(records),
        "divided": _divided(records),
        "errors": _errors(records),
        "alike": ALIKE,
        **_atlas(records),
        **_shared(records),
    }


SHARED = {
    ("GRPO", "none", 0.0): "GRPO, no KL",
    ("GRPO", "k3", 0.3): "GRPO, plain k3, 0.3",
    ("GRPO", "k3", 1.0): "GRPO, plain k3, 1",
    ("GRPO", "k2", 0.3): "GRPO, k2, 0.3",
    ("GRPO", "k2", 1.0): "GRPO, k2, 1",
    ("DPH-F", "none", 0.5): "DPH-F, 0.5",
    ("KL-DPG", "none", 0.0): "KL-DPG",
}
"""The settings of several seeds that pages show, by method, KL and coefficient, and how they name them."""


def _shared(records: Records) -> dict[str, Any]:
    """The pretrained Llama's methods, by name."""
    rows = {_key(row): row for row in _transfer(records)["methods"]}
    ends = pretrained.ends(pretrained.numbers(records)).set_index("method")
    trained = ends.loc["base", "trained 1"].item()
    base = rows["GRPO", "none", 0.0]
    return {
        "shared": [rows[key] | {"text": words} for key, words in SHARED.items()],
        "base_1": f"trained Pass@1 {trained:.3f}, held-out {base['base_1']:.3f}",
        "base_256": f"held-out Pass@256 {base['base_256']:.3f}",
    }


def _key(row: Mapping[str, Any]) -> tuple[str, str, float]:
    return row["method"], row["kl"], row["coefficient"]


def _small_llama(stored: LlamaRuns) -> dict[str, Any]:
    """A row a form at SHOWN_BETA on the two-token task, and how many of all runs matched."""
    judged = stored.judged.assign(matched=stored.judged.verdict == "matched")
    shown = stored.runs_of("which_policy").dropna(subset=["predicted"])
    shown = shown.query("task == @stationary_policies.TASK and beta == @SHOWN_BETA")
    columns = ["validity", "predicted_validity", "first_share", "predicted_first_share"]
    rows = []
    for form in (form for form in FORMS if (shown.form == form).any()):
        matched = judged.matched[judged.form == form]
        means = shown.loc[shown.form == form, columns].mean().to_dict()
        rows.append({"form": FORMS[form], "held": matched.sum(), "all": len(matched), **means})
    strong = judged.matched[judged.beta >= STRONG]
    counts = {"strong": (strong.sum(), len(strong)), "all": (judged.matched.sum(), len(judged))}
    return {"beta": SHOWN_BETA, "strong_beta": STRONG, "rows": rows, **counts}


def _transfer(records: Records) -> dict[str, Any]:
    """What was predicted from the kernel of the base: agreement, a row a setting, the prompts' cosines."""
    numbers, results = transfer.numbers(records), records.results("pretrained")
    frame = numbers["settings"].rename(columns=lambda name: name.replace(" ", "_"))
    rows, published = frame.to_dict("records"), transfer.methods(numbers)
    methods = [row for i, row in enumerate(rows) if i in published.index]
    of_base = {"tasks": [*transfer.MIXTURE], "rank": None, "measured_after": 0, "seed": None}
    kernel = next(kernel for kernel in results["kernels"] if kernel["settings"] == of_base)
    trained = [i for i, name in enumerate(kernel["sets"]) if name.startswith(transfer.TASK)]
    trained = trained[: len(trained) // 2]
    among = np.array(kernel["cosines"])[np.ix_(trained, trained)][~np.eye(len(trained), dtype=bool)]
    return {
        "agreement": transfer.agreement(numbers),
        "count": len(methods),
        "methods": methods,
        "others": [row for row in rows if row not in methods],
        "among": np.abs(among).mean(),
    }


MODELS = {None: "SmolLM2-135M", **{name: words for name, words in models.MODELS.items() if name}}
ERRORS = ("kernel", "kernel of Adam's steps", "no change", "noise of seeds")


def _errors(records: Records) -> list[tuple[str, ...]]:
    """A row a model, task and rate: settings, then root mean square errors of held-out Pass@k, as text."""
    rows = []
    for row in records.results("pretrained")["forecast_errors"]:
        if row["optimiser"] == "adam" and row["experiment"] == "models":
            runs = f"{MODELS[row['model']]}, {row['task']}, {row['learning_rate']:.1g} ({row['settings']})"
            numbers = [row["errors"].get(name) for name in ERRORS]
            cells = ("-" if at_k is None else " / ".join(f"{x:.3f}" for x in at_k) for at_k in numbers)
            rows.append((runs, *cells))
    return rows


USUAL = {"method": "GRPO", "kl": "none", "coefficient": 0.0, "rank": None, "anchors": 0, "answers": None}
"""The fields of a setting of the pretrained Llama, where a page names no other."""


def _fall(records: Records) -> dict[str, Any]:
    """What the page on Pass@k quotes: settings by their fields, the SQL task, the command's answer."""
    transfers = _transfer(records)
    methods = {_key(row): row for row in transfers["methods"]}
    claims = {claim["name"]: claim for claim in records.results("pretrained")["claims"]}

    def setting(*tasks: str, **fields: Any) -> dict[str, Any]:
        """The first setting of these tasks beside the methods with these fields."""
        fields = USUAL | {"tasks": tasks} | fields
        rows = transfers["others"]
        return next(row for row in rows if all(row[name] == field for name, field in fields.items()))

    def cell(*key: Any) -> str:
        """Held-out Pass@256 of a method, measured, and predicted in brackets."""
        return f"{methods[key]['measured_256']:.3f} [{methods[key]['forecast_256']:.3f}]"

    sql = records.results("demo")["methods"]
    anchored = json.loads((DOCS.parent / "benchmarks/results/anchors.json").read_text())["runs"]
    of_sql = {
        coefficient: {
            name: float(np.mean([run[name] for run in anchored if run["coefficient"] == coefficient]))
            for name in ("Pass@1", "Pass@32")
        }
        for coefficient in (0.05, 0.5)
    }
    counted = json.loads((DOCS.parent / measured.FILE).read_text(encoding="utf-8"))["runs"][-1]["held_out"]
    printed = (DOCS / "transcripts" / "transfer.txt").read_text(encoding="utf-8").partition("\n")[2]
    ended = [run for run in records.results("real_runs")["runs"] if run["pass_1"][1] > run["pass_1"][0]]
    public = {"all": len(ended), "fell": sum(run["any"][1] < run["any"][0] for run in ended)}
    setting_of_sql = {"prompts": anchored[0]["anchors"], "seeds": len({run["seed"] for run in anchored})}
    return {
        "public": public,
        "sql": counted,
        "forecast": printed.rstrip(),
        "sums": setting("sums"),
        "lora": setting(*transfer.MIXTURE, rank=8),
        "cell": cell,
        "at_end": lambda *key: f"{methods[key]['measured_256']:.3f}",
        "trained": lambda *key: f"{methods[key]['trained_measured_1']:.3f}",
        "demo_row": lambda name: f"{np.mean(sql[name]['Pass@32']['values']):.3f}",
        "sql_anchors": of_sql | setting_of_sql,
        "sql_base": {name: float(np.mean(of["values"])) for name, of in sql["base"].items() if of["values"]},
        "sql_grpo": float(np.mean(sql["GRPO"]["Pass@1"]["values"])),
        "anchors": setting(transfer.TASK, coefficient=1.0, anchors=4, picked="at random"),
        "plain": setting(transfer.TASK),
        "row": setting,
        "claim": claims.__getitem__,
    }


def _divided(records: Records) -> dict[str, Any]:
    """What settings of the advantage retain at one trained Pass@1: a row a setting, in three digits."""
    numbers = divisors.numbers(records)
    rows = [
        (
            task,
            setting.replace("gemma3", "Gemma"),
            seeds,
            f"{first:.2f}",
            f"{steps:.0f}",
            *(f"{rate:.3f}" for rate in rates),
        )
        for task, setting, seeds, first, steps, *rates in divisors.table(numbers).rows
    ]
    claims = records.results("pretrained")["claims"]
    return {
        "rows": rows,
        "base_of_two": f"{numbers[numbers.task == 'last two digits']['held out 256'].iloc[0]:.3f}",
        "counted": _counted(records),
        "claims": [claim for claim in claims if claim["theory"].startswith("O") and "verdict" in claim],
    }


def _counted(records: Records) -> dict[str, str]:
    """Where the runs end whose advantages are weighed by 1/V from counts, means over seeds."""
    runs = [run for run in records.results("pretrained")["advantages"] if run["rates"] == "counted"]
    runs = [run for run in runs if run["power"] == 1 and (run["task"], run["model"]) == ("last digits", None)]
    (trained, *_), (*_, held_out) = (
        np.mean([run[kind][-1] for run in runs], axis=0) for kind in ("trained", "held_out")
    )
    of_runs = {"seeds": str(len(runs)), "steps": str(runs[0]["steps"][-1])}
    return of_runs | {"trained": f"{trained:.3f}", "held_out": f"{held_out:.3f}"}


def _pretrained(records: Records) -> dict[str, Any]:
    """The pretrained Llama: the policies by form, and which runs matched theirs."""
    numbers = pretrained.numbers(records)
    missed = [run for run in numbers["stationary"] if not run["matched"]]
    return {
        "beta": pretrained.BETA,
        "forms": pretrained.FORMS,
        "shares": numbers["shares"],
        "held": len(numbers["stationary"]) - len(missed),
        "laws": len(numbers["stationary"]),
        "missed": [
            f"{run['run']['kl']} at beta {run['run']['coefficient']:g} on {', '.join(run['run']['tasks'])} "
            f"(pass rates {run['gap']:.3f} off, KL {run['kl_to_prediction']:.4f})"
            for run in missed
        ],
        "seeds": int(pretrained.ends(numbers).seeds.max()),
        "equal": numbers["at_equal_first"],
    }


def _directions(records: Records) -> dict[str, Any]:
    """Pass@1 and Pass@16 of the methods at the weakest strength, on a small Llama."""
    rows = direction.numbers(records)
    weak = rows.strength.min()
    shown = rows[rows.strength.isna() | (rows.strength == weak)].set_index("method")
    measures = list(direction.MEASURES.values())
    return {"strength": weak, "seeds": shown.seeds.min(), "found": shown[measures].T.to_dict("list")}


def _budget(records: Records) -> dict[str, Any]:
    """The longest trainings at the least beta, annealed and not: of all weights, of the smallest adapter."""
    frame = budget_and_family.numbers(records)
    shown = budget_and_family.ends(frame)
    shown = shown[shown.steps == shown.steps.max()]
    rank = shown["rank"].min()
    by = {
        name: shown[shown["rank"] == at].set_index("objective").to_dict("index")
        for name, at in (("whole", np.inf), ("adapter", rank))
    }
    facts = {
        "beta": shown.beta.iloc[0],
        "steps": shown.steps.iloc[0],
        "seeds": shown.seeds.min(),
        "rank": int(rank),
    }
    return {"target": frame.target.iloc[0], **facts, **by}


def _demo(records: Records) -> dict[str, Any]:
    """How many of the expected differences were found and predictions held, and the kinds of the missed."""
    record = records.results("demo")
    expected = [gap for gap in record["differences"] if gap["expected"]]
    missed = [line for line in record["predictions"] if line["verdict"] == "inconsistent"]
    return {
        "expected": len(expected),
        "found": sum(gap["found"] == gap["expected"] for gap in expected),
        "predictions": len(record["predictions"]),
        "held": sum(line["verdict"] == "consistent" for line in record["predictions"]),
        "missed": list(dict.fromkeys(line["name"] for line in missed)),
    }


def _styles(records: Records) -> dict[str, Any]:
    """The tiny transformer's methods by label: Pass@1 and Pass@16 on trained prompts."""
    frame = records.styles[records.styles.main & (records.styles.split == "train")]
    rates = frame.groupby("label", sort=False)[[1, 16]].mean()
    return {
        "rows": {label: {"one": one, "many": many} for label, one, many in rates.itertuples()},
        "seeds": frame.seed.nunique(),
    }


def _strategies(records: Records) -> dict[str, Any]:
    """The methods, and forward against reverse KL on D_pef by coefficient."""
    record = records.record("strategies")
    config, exact = record["config"], record["results"]
    blocks = {block["divergence"]: block for block in exact["sweep"] if block.get("place") == "D_pef"}
    rows = pd.DataFrame({"coefficient": config["strengths"]})
    for name in ("forward KL", "reverse KL"):
        block = blocks[name.lower().replace(" ", "_")]
        rows[name] = block["pass_at_k"][block["conditioning"].index(config["conditioning"])]
    gap = (rows["forward KL"] - rows["reverse KL"]).abs()
    return {
        "k": config["coverage_draws"],
        "base": exact["base"],
        "methods": {method["name"]: method for method in exact["methods"]},
        "widest": rows.loc[gap.idxmax()].to_dict(),
        "alike_above": rows.coefficient[gap >= ALIKE].max(),
        "least_retaining": rows.coefficient[rows["forward KL"] >= exact["base"]["pass_at_k"]].min(),
    }


def _collapse(records: Records) -> dict[str, Any]:
    """The homogeneous fits of the reference problem at the largest 1/beta, and means over random problems."""
    results = records.results("collapse")
    best, _, covering = collapse.family_fits(collapse.numbers(records), collapse.FAMILY)
    return {
        "base_rate": results["reference"]["target"]["base_rate"],
        "reverse": best.iloc[-1].to_dict(),
        "forward": covering.iloc[-1].to_dict(),
    }


TARGETS = {
    problems.ONE: "one correct answer, which one decided by sampling noise",
    problems.FILTERED: "the base conditioned on being correct",
    problems.BASE: "the base itself, at its own pass rate",
    problems.LOCAL: "token-level constrained decoding of the base",
    problems.MEANS: "the same, with longer answers favoured",
    problems.FORWARD: "the small-beta limit of plain k3 in the loss",
    problems.UNIFORM: "all correct answers, equally likely",
    problems.UNIFORM_LOCAL: "uniform over the tokens that can still become correct",
    problems.PER_TOKEN: "correct answers of equal mean log-probability a token",
}
"""What a method converges to, in a reader's words."""
RARE = {"quick": "stays", "slow": "vanishes with p", "between": "vanishes slower than p", "none": "none"}


def _rare(way_back: str) -> str:
    """The gradient on a rare answer, in a reader's words."""
    rate, _, drawn = way_back.partition(", ")
    return RARE[rate] + ("; stored" if drawn == "undrawn" else "")


def _atlas(records: Records) -> dict[str, Any]:
    """The rows of the atlas, its targets, and its trainings."""
    record = records.record("atlas")
    rows = pd.DataFrame(record["results"]["rows"])
    clips = rows.note.str.startswith("four updates")
    shown = rows.assign(target=rows.selects.map(TARGETS), back=rows.way_back.map(_rare))[~clips]
    named = [
        (target, "; ".join(group.method), back)
        for target in TARGETS.values()
        for back, group in shown[shown.target == target].groupby("back", sort=False)
    ]
    return {"targets": named, "read_count": len(rows), "trained": _trainings(record)}


def _trainings(record: Any) -> dict[str, Any]:
    """Each method's trainings, means over seeds, and how many of all ended near what was predicted."""
    results, config = record["results"], record["config"]
    gaps, one_left = {}, list[str]()
    for training in results["trained"]:
        shares = np.stack(pd.DataFrame(training["runs"]).shares)
        alone = int((shares.max(axis=1) >= ONE_LEFT).sum())
        if alone and max(training["predicted"]["shares"]) < ONE_LEFT:
            one_left.append(f"{training['method']} ({alone})")
        gaps[training["method"]] = np.mean(training["gaps"])
    distances = pd.Series(gaps).sort_values()
    return {
        "count": len(distances),
        "near": int((distances <= NEAR).sum()),
        "bar": NEAR,
        "far": [f"{method} ({gap:.2f})" for method, gap in distances[distances > NEAR].items()],
        "lost": one_left,
        "one": ONE_LEFT,
        "steps": config["steps"],
        "seeds": config["seeds"],
    }
