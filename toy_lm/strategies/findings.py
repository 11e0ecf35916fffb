"""The sentences that follow from the numbers, and turn with them."""

from collections.abc import Iterator
from typing import Any

from .config import Config
from .summary import by_alpha
from .sweep import PLACES

_HARDLY = 0.1
"""A gap below this share of the largest counts as hardly any."""
_ROUNDING = 1e-12
"""At the base the guarantee is an equality, where rounding may fall on either side."""


def findings(config: Config, results: dict[str, Any]) -> list[str]:
    """What the results say, in a sentence or two for each question asked of them."""
    return [
        *_methods(config, results),
        _sharing(config, results),
        *(_direction(config, results, place) for place in PLACES),
        _place(config, results),
        _targets(config, results["targets"]),
        _meter(config, results),
        _guarantee(results),
        _random(config, results["random_tasks"]["methods"]),
    ]


def _named(results: dict[str, Any]) -> dict[str, Any]:
    return {method["name"]: method for method in results["methods"]}


def _methods(config: Config, results: dict[str, Any]) -> Iterator[str]:
    base, found = results["base"], _named(results)
    for method in (found["GRPO"], found["DPH-F"]):
        eta = f" (eta {method['eta']:g})" if method["eta"] else ""
        one = _moved("Pass@1", base["pass_at_1"], method["pass_at_1"])
        many = _moved(f"Pass@{config.coverage_draws}", base["pass_at_k"], method["pass_at_k"])
        yield f"{method['name']}{eta} {one} and {many}."


def _moved(what: str, before: float, after: float) -> str:
    verb = "raises" if after > before else "lowers" if after < before else "leaves"
    return f"{verb} {what} from {before:.3f} to {after:.3f}"


def _sharing(config: Config, results: dict[str, Any]) -> str:
    free, base = results["sweep"][0], results["base"]["pass_at_k"]
    ends = {g: value for g, (value,) in zip(free["conditioning"], free["pass_at_k"], strict=True)}
    falls, stays = ([g for g in ends if (ends[g] < base) is fell] for fell in (True, False))
    split = bool(falls and stays) and max(falls) < min(stays)
    told = "the fall needs shared strategies" if split else "conditioning alone does not decide"
    return (
        f"Without an anchor Pass@{config.coverage_draws} ends below the base's at conditioning g in "
        f"{_listed(falls)} and not in {_listed(stays)}; it is {ends[min(ends)]:.3f} at g = {min(ends):g} "
        f"and {ends[max(ends)]:.3f} at g = {max(ends):g}: {told}."
    )


def _listed(values: list[Any]) -> str:
    return f"({', '.join('never' if v is None else f'{v:g}' for v in values)})"


def _direction(config: Config, results: dict[str, Any], place: str) -> str:
    rows = sorted(
        (row for row in results["directions"] if row["place"] == place), key=lambda row: row["strength"]
    )
    weakest, strongest, widest = rows[0], rows[-1], max(rows, key=lambda row: abs(row["gap"]))
    fades = abs(strongest["gap"]) < _HARDLY * abs(widest["gap"])
    told = "matters under a weak anchor and hardly under a strong one" if fades else "keeps mattering"
    at, alphas = widest["pass_at_k"], by_alpha(config, results["sweep"], widest["strength"], place)
    along = ", ".join(f"{value:.3f} at {alpha:g}" for alpha, value in alphas.items())
    return (
        f"Penalty on {place}, at equal eta f''(1): the direction of the KL {told}. The gap is widest "
        f"at strength {widest['strength']:g}, where Pass@{config.coverage_draws} ends at "
        f"{at['forward KL']:.3f} with the forward KL and {at['reverse KL']:.3f} with the reverse (along "
        f"alpha {along}); it is {abs(weakest['gap']):.4f} at the weakest, {weakest['strength']:g}, and "
        f"{abs(strongest['gap']):.4f} at the strongest, {strongest['strength']:g}."
    )


def _place(config: Config, results: dict[str, Any]) -> str:
    found, k = _named(results), config.coverage_draws
    here, everywhere = found["DPH-F"], found["forward KL on all prompts"]
    one, many = (everywhere[key] - here[key] for key in ("pass_at_1", "pass_at_k"))
    return (
        f"The forward KL at strength {config.strength:g} on all prompts in place of D_pef changes Pass@1 by "
        f"{one:+.3f} (to {everywhere['pass_at_1']:.3f}) and Pass@{k} by {many:+.3f} "
        f"(to {everywhere['pass_at_k']:.3f})."
    )


def _targets(config: Config, found: dict[str, Any]) -> str:
    worst = max(abs(a - b) for a, b in zip(found["target"], found["unrestricted"], strict=True))
    here = found["reached"][config.conditionings.index(config.conditioning)]
    most = max(range(len(config.conditionings)), key=lambda i: config.conditionings[i])
    return (
        f"KL control with the beta for a mean validity: unrestricted policies reach their targets within "
        f"{worst:.1e}. For {found['target'][-1]:g} the best policy that shares strategies has "
        f"{found['best_of_family'][-1]:.3f}, since no training changes its rate on the easy type; "
        f"{config.steps} steps of the gradient reach {here[-1]:.3f} at g = {config.conditioning:g} and "
        f"{found['reached'][most][-1]:.3f} at g = {config.conditionings[most]:g}."
    )


def _meter(config: Config, results: dict[str, Any]) -> str:
    rows, leads = results["meter"], [lead["lead"] for lead in _named(results)["GRPO"]["leads"]]
    fell, others = rows[0]["fell"], rows[0]["trainings"] - rows[0]["fell"]

    def column(key: str) -> str:
        return _listed([row[key] for row in rows])

    return (
        f"Collapse meter: a rise of the mean excess KL by {column('rise')} nats came before "
        f"a fall of Pass@{config.coverage_draws} by {config.fall:g} in {column('warned_before')} of the "
        f"{fell} trainings of the sweep that have one (median lead {column('median_lead')} steps); it "
        f"was a false alarm in {column('false_alarms')} of the {others} others. Under GRPO it leads by "
        f"{_listed(leads)} steps."
    )


def _guarantee(results: dict[str, Any]) -> str:
    found = _named(results)
    margin = min(method["guarantee_margin"] for method in found.values())
    held = "holds at every step" if margin > -_ROUNDING else f"is violated by {-margin:.1e}"
    return (
        f"The rehearsal guarantee exp(-KL(p_*||pi)) on the easy type {held} of every method; at the end it "
        f"vouches for {found['DPH-F']['guarantee']:.3f} with DPH-F and {found['GRPO']['guarantee']:.3f} with "
        f"GRPO, whose pass rate there is {found['GRPO']['easy_rate']:.3f}, since every strategy passes: the "
        "guarantee is sufficient, not necessary."
    )


def _random(config: Config, rows: list[dict[str, Any]]) -> str:
    k = config.coverage_draws
    said = (
        "{} {:+.3f} (95% interval {:+.3f} to {:+.3f}), with Pass@1 up and Pass@{} down on {:.0%}".format(
            row["name"], *row["pass_at_k_change"], k, row["rise_and_fall"]
        )
        for row in rows
    )
    return f"On {config.random_tasks} random tasks Pass@{k} changes in the mean by: {'; '.join(said)}."
