"""The numbers that pages quote, all from the stored records, by name for the pages in `docs/templates`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import FORWARD_KL
from dph_theory.losses import methods
from dph_theory.stationary import filtered_policy, table_pass_rate, token_policy
from dph_theory.support.table import Table
from figures.frames import Records
from figures.gallery import causes_of_misses, collapse, pretrained, transfer

DOCS = Path(__file__).parent
BASE, CORRECT, BETA = [np.array([0.22, 0.12, 0.06, 0.3, 0.2, 0.1])], np.array([1, 1, 1, 0, 0, 0]), 0.3
"""The prompt of the pages' examples, with three correct answers of six, and the KL's coefficient."""
ONE, UNCHANGED = "one correct answer, decided by sampling noise", "the base itself, at its own pass rate"
FILTERED = "the base conditioned on being correct"
METHODS = {
    ("GRPO", "none"): (ONE, None),
    ("DAPO", "none"): (ONE, None),
    ("GRPO", "k3"): ("beta times the base over (l - Q)", token_policy(BASE, CORRECT, BETA, FORWARD_KL)),
    ("GRPO", "k2"): ("the base times e^(Q/beta)", token_policy(BASE, CORRECT, BETA)),
    ("DPH-F", "none"): (f"{FILTERED}, on solved prompts", filtered_policy(BASE, CORRECT)),
    ("DPH-JS", "none"): (f"{UNCHANGED}, on solved prompts", BASE),
    ("DPH-alpha", "none"): (f"{UNCHANGED}, on solved prompts", BASE),
    ("KL-DPG", "none"): (FILTERED, filtered_policy(BASE, CORRECT)),
}
"""The methods that were trained, each by name and form of its KL: where they converge, and as a policy."""


def quoted(records: Records) -> dict[str, Any]:
    """Everything that the pages quote."""
    counts = causes_of_misses.numbers(records)
    runs = records.llama.runs_of("samplers").dropna(subset=["predicted"])
    return {
        **_small_models(records),
        "methods_table": _methods(records),
        "pretrained": _pretrained(records),
        "transfer": _transfer(records),
        "fall": _fall(records),
        "matched": f"{counts['matched'].sum()} of {counts.to_numpy().sum()}",
        "sampled": f"{(runs.verdict == 'matched').sum()} of {len(runs)}",
        "errors": [
            row
            for row in records.results("pretrained")["forecast_errors"]
            if row["optimiser"] == "adam" and row["experiment"] == "models" and row["model"]
            if row["errors"].get("noise of seeds")
        ],
        "models": {"gemma3": "Gemma-3-270M", "taught": "a small Llama", None: "SmolLM2-135M"},
        "demo": records.results("demo"),
        "sql": _sql(records),
    }


def _methods(records: Records) -> str:
    """Table of the policies that methods converge to on one prompt, and of training on shared weights."""
    ends, rows = pretrained.ends(pretrained.numbers(records)), []
    for (method, kl), (words, policy) in METHODS.items():
        shares = "" if policy is None else " / ".join(f"{p:.2f}" for p in policy[0][:3])
        rate = "1.00" if policy is None else f"{float(table_pass_rate(policy, CORRECT)):.2f}"
        for end in ends[(ends.method == method) & (ends.kl == kl) & (ends.seeds > 1)].to_dict("records"):
            strength = f" {end['coefficient']:g}" if end["coefficient"] else ""
            name = f"{method}{'' if kl == 'none' else f', {kl}'}{strength}"
            measured = (f"{end[column]:.3f}" for column in ("trained 1", "held 256"))
            rows.append((name, words, f"{rate} ({shares})" if shares else rate, *measured))
    head = ("method", "converges to", "pass rate (shares)", "trained Pass@1", "held-out Pass@256")
    return Table.from_rows(head, rows).markdown()


def _transfer(records: Records) -> dict[str, Any]:
    """Predictions from the kernel of the base: agreement, a row a setting, the prompts' cosines."""
    numbers, results = transfer.numbers(records), records.results("pretrained")
    frame = numbers["settings"].rename(columns=lambda name: name.replace(" ", "_"))
    rows, published = frame.to_dict("records"), transfer.methods(numbers)
    of_base = {"tasks": [*transfer.MIXTURE], "rank": None, "measured_after": 0, "seed": None}
    kernel = next(kernel for kernel in results["kernels"] if kernel["settings"] == of_base)
    trained = [i for i, name in enumerate(kernel["sets"]) if name.startswith(transfer.TASK)]
    trained = trained[: len(trained) // 2]
    among = np.array(kernel["cosines"])[np.ix_(trained, trained)][~np.eye(len(trained), dtype=bool)]
    return {
        "agreement": transfer.agreement(numbers),
        "methods": [row for i, row in enumerate(rows) if i in published.index],
        "others": [row for i, row in enumerate(rows) if i not in published.index],
        "among": np.abs(among).mean(),
    }


USUAL = {"method": "GRPO", "kl": "none", "coefficient": 0.0, "rank": None, "anchors": 0, "answers": None}
"""The fields of a setting of the pretrained Llama, where a page names no other."""


def _fall(records: Records) -> dict[str, Any]:
    """Numbers that the page on Pass@k quotes: settings by their fields, the SQL task, the answer."""
    transfers, sql = _transfer(records), records.results("demo")["methods"]
    methods = {(row["method"], row["kl"], row["coefficient"]): row for row in transfers["methods"]}
    claims = {claim["name"]: claim for claim in records.results("pretrained")["claims"]}

    def setting(*tasks: str, **fields: Any) -> Mapping[str, Any]:
        """The first setting of these tasks beside the methods with these fields."""
        fields = USUAL | {"tasks": tasks} | fields
        return next(row for row in transfers["others"] if fields.items() <= row.items())

    def cell(*key: Any) -> str:
        """Held-out Pass@256 of a method, measured, and predicted in brackets."""
        return f"{methods[key]['measured_256']:.3f} [{methods[key]['forecast_256']:.3f}]"

    printed = (DOCS / "transcripts" / "transfer.txt").read_text(encoding="utf-8").partition("\n")[2]

    def fallen(runs: Sequence[Mapping[str, Any]]) -> dict[str, int]:
        return {"all": len(runs), "fell": sum(run["any"][1] < run["any"][0] for run in runs)}

    ended = [run for run in records.results("real_runs")["runs"] if run["pass_1"][1] > run["pass_1"][0]]
    return {
        "public": fallen(ended),
        "public_solving": fallen([run for run in ended if run["any"][0] >= 0.6]),
        "sql": measured_sql(records)[1]["held_out"],
        "forecast": printed.rstrip(),
        "sums": setting("sums"),
        "lora": setting(*transfer.MIXTURE, rank=8),
        "cell": cell,
        "at_end": lambda *key: f"{methods[key]['measured_256']:.3f}",
        "trained": lambda *key: f"{methods[key]['trained_measured_1']:.3f}",
        "demo_row": lambda name: f"{np.mean(sql[name]['Pass@32']['values']):.3f}",
        "anchors": setting(transfer.TASK, coefficient=1.0, anchors=4, picked="at random"),
        "plain": setting(transfer.TASK),
        "row": setting,
        "claim": claims.__getitem__,
        "divisors": [
            claim
            for name, claim in claims.items()
            if claim["theory"] in ("retention", "strategies") and not name.startswith("words")
        ],
        "of_words": [claim for name, claim in claims.items() if name.startswith("words")],
        "words": _words(records.results("pretrained")["words"]),
        "guess": [float(exact_pass_at_k(0.1, k)) for k in (1, 256)],
    }


def _words(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Trained Pass@1 and @8, held-out Pass@1 and @8 of hidden words: the base, and each method's end."""

    def row(chosen: Sequence[Mapping[str, Any]], point: int) -> list[float]:
        rates = [[run[name][point][i] for name in ("trained", "held_out") for i in (0, 1)] for run in chosen]
        return np.mean(rates, axis=0).tolist()

    methods = dict.fromkeys(run["method"] for run in runs)
    ends = {name: row([run for run in runs if run["method"] == name], -1) for name in methods}
    return {"base": row(runs, 0), **ends}


STYLES = ("count_star", "count_column", "count_distinct", "subquery", "sum_case")
"""Styles of SQL, in the order in which the page shows their shares."""
DIVIDED = {"Dr. GRPO": "none", "GRPO": "std", "MaxRL": "mean"}
"""Divisors by the name of the method, in the record of the SQL runs."""


def _sql(records: Records) -> dict[str, Any]:
    """The SQL runs: Pass@k by method, forecasts beside what was found, and every prediction."""
    config, results = records.record("sql")["config"], records.results("sql")
    places = [config["shown"].index(k) for k in (1, 8, 32)]
    by_label: dict[str, list[Mapping[str, Any]]] = {}
    for run in results["runs"]:
        by_label.setdefault(run["label"], []).append(run)

    def point(run: Mapping[str, Any], step: int) -> Mapping[str, Any]:
        return next(point for point in run["course"] if point["step"] == step)

    def pass_rates(runs: list[Mapping[str, Any]], step: int) -> list[float]:
        values = [[point(run, step)["held_out"]["pass_at"][i] for i in places] for run in runs]
        return np.mean(values, axis=0).tolist()

    def shares(styles: Mapping[str, float]) -> str:
        return " ".join(f"{styles.get(style, 0):.2f}" for style in STYLES)

    methods = [
        {
            "name": label.replace("DPH-F by mean", "DPH-MaxRL"),
            "seeds": len(runs),
            "middle": pass_rates(runs, 160),
            "last": pass_rates(runs, 640),
            "entropy": np.mean([point(run, 640)["held_out"]["style_entropy"] for run in runs]),
        }
        for label, runs in by_label.items()
    ]
    forecasts = []
    for label, divisor in DIVIDED.items():
        runs, forecast = by_label.get(label, []), results["forecasts"][divisor]
        ends = [point(run, 640)["trained"] for run in runs]
        if ends:
            rates = [end["pass_at"][0] for end in ends]
            expected = [
                np.interp(rates, forecast["pass_at_1"], column).mean()
                for column in (forecast["pass_at_8"], *(forecast["shares"][style] for style in STYLES))
            ]
            measured = {style: np.mean([end["styles"].get(style, 0) for end in ends]) for style in STYLES}
            forecasts.append(
                {
                    "name": label,
                    "seeds": len(runs),
                    "forecast": expected[0],
                    "found": np.mean([end["pass_at"][places[1]] for end in ends]),
                    "shares": shares(dict(zip(STYLES, expected[1:], strict=True))),
                    "found_shares": shares(measured),
                }
            )
    rows = [
        (claim["says"], claim["rival"], claim.get("seeds", 0), *_outcome(claim))
        for claim in results["claims"]
    ]
    head = ("predicted before the runs", "rival", "seeds", "found", "90% interval", "outcome")
    return {
        "finished": len(results["runs"]),
        "declared": config["declared"],
        "prompts": config["prompts"],
        "texts": config["prompts"] // 10,
        "base": [results["base"]["held_out"]["pass_at"][i] for i in places],
        "minutes": min(run["seconds"] for run in results["runs"]) / 60,
        "base_entropy": results["base"]["held_out"]["style_entropy"],
        "base_trained": results["base"]["trained"]["pass_at"][places[1]],
        "methods": methods,
        "forecasts": forecasts,
        "claims": Table.from_rows(head, rows).markdown(),
        "k3": {
            strength: pass_rates(by_label[f"GRPO + k3 {strength}"], 640) for strength in ("0.001", "0.04")
        },
        "claim": {claim["name"]: claim for claim in results["claims"]},
    }


def measured_sql(records: Records) -> list[dict[str, Any]]:
    """The rows of `dph_theory/predict/measured.json` from the SQL runs, means over seeds."""
    config, results = records.record("sql")["config"], records.results("sql")
    places = [config["shown"].index(k) for k in (1, 32)]
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for run in results["runs"]:
        runs.setdefault(run["label"], []).append(run)

    def ends(label: str, answers: str) -> dict[str, list[float]]:
        last = [[run["course"][-1][answers]["pass_at"][i] for i in places] for run in runs[label]]
        base = [results["base"][answers]["pass_at"][i] for i in places]
        return {"base": np.round(base, 3).tolist(), "end": np.mean(last, axis=0).round(3).tolist()}

    # Label of the runs: method, divisor, form and kind of the KL, and its coefficient.
    rows = {name: (name, divisor, "none", "none", 0.0) for name, divisor in DIVIDED.items()}
    for name in ("DPH-F", "DPH-JS"):
        eta = methods.METHODS[name].rehearsal.eta
        rows[name] = (name, "std", "none", "rehearsal", eta)
    # DPH-JS by the mean has no name under which it could be chosen.
    rows["DPH-F by mean"] = ("DPH-MaxRL", "mean", *rows["DPH-F"][2:])
    for label in runs:
        name, _, strength = label.partition(" + k3 ")
        if strength:
            rows[label] = (name, DIVIDED[name], "k3", "forward", float(strength))
    names = ("method", "scale", "form", "kl", "strength")
    return [
        {
            "model": "a small Llama",
            "task": "SQL queries",
            **dict(zip(names, row, strict=True)),
            "steps": runs[label][0]["course"][-1]["step"],
            "seeds": len(runs[label]),
            "k": 32,
            "trained": ends(label, "trained"),
            "held_out": ends(label, "held_out"),
        }
        for label, row in rows.items()
    ]


def _outcome(claim: Mapping[str, Any]) -> tuple[str, str, str]:
    """Measured value of a prediction, its interval, and its outcome."""
    if "mean" not in claim:
        return "", "", "not run"
    bounds = [float(claim[name]) for name in ("low", "high")]
    interval = "" if np.isinf(bounds).any() else f"{bounds[0]:+.3f} to {bounds[1]:+.3f}"
    outcome = {"held": "as predicted"}.get(claim["verdict"], claim["verdict"])
    return f"{claim['mean']:+.3f}", interval, outcome


def _pretrained(records: Records) -> dict[str, Any]:
    """The pretrained Llama: the policies by form, and how many runs matched theirs."""
    numbers = pretrained.numbers(records)
    return {
        "beta": pretrained.BETA,
        "forms": pretrained.FORMS,
        "shares": numbers["shares"],
        "held": sum(run["matched"] for run in numbers["stationary"]),
        "laws": len(numbers["stationary"]),
        "ends": pretrained.ends(numbers).set_index(["method", "kl", "coefficient"]).to_dict("index"),
        "equal": numbers["at_equal_first"],
    }


def _small_models(records: Records) -> dict[str, Any]:
    """A small Llama at the weakest strength, a tiny transformer, the exact toy, a model that is too small."""
    runs, record, weak = records.llama.runs_of("direction"), records.record("strategies"), 0.05
    kinds = {"DAPO": ("none", 0.0), "reverse KL": ("k3_corrected", weak), "DPH-F": ("rehearsal", weak)}
    ends = {
        name: runs[
            runs.dapo
            & (runs.form == form)
            & (runs.beta == beta)
            & (runs.rehearsed.fillna("log_u") == "log_u")
        ]
        for name, (form, beta) in kinds.items()
    }
    found = {name: rows[["pass_rate", "pass_at_16"]].mean().tolist() for name, rows in ends.items()}
    styles = records.styles[records.styles.main & (records.styles.split == "train")]
    rates = styles.groupby("label", sort=False)[[1, 16]].mean()
    best, _, covering = collapse.family_fits(collapse.numbers(records), collapse.FAMILY)
    return {
        "llama": {"strength": weak, "found": found},
        "styles": {"rows": rates.T.to_dict("list"), "seeds": styles.seed.nunique()},
        "k": record["config"]["coverage_draws"],
        "base": record["results"]["base"],
        "methods": {method["name"]: method for method in record["results"]["methods"]},
        "reverse": best.iloc[-1].to_dict(),
        "forward": covering.iloc[-1].to_dict(),
    }
