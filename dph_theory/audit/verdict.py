"""Summary of an audit in one to three plain sentences, faults first."""

from collections.abc import Mapping

from ..losses.kl_terms import BASE_RATE, FILTERED, FORWARD_LIMIT, LOCAL
from .report import PADDING, REWARD, SEVERAL, TOKENS, AuditReport, plain

MOST = 3
"""Most sentences beside the declared loss; the rest is in the rows."""
_ENDS: Mapping[str, str] = {
    FILTERED: "With a small beta it converges to the base's correct answers, in the base's proportions",
    LOCAL: "With a small beta only correct answers remain, those of the base restricted token by token",
    FORWARD_LIMIT: "With a small beta only correct answers remain, not in the base's proportions",
    BASE_RATE: "It converges to correct answers in the base's proportions, as often as the base gives one",
}
_MINIMISERS: Mapping[str, str] = {
    "p_*": "it is least at the filtered model p_*",
    "base rate": "it is least at the base's own pass rate",
    "constant": "it is least at a multiple of the base's own pass rate",
    "other": "it is least at a pass rate that is neither 1 nor a multiple of the base's",
    "none": "it has no least value, or moves nothing",
}
_ALARMS: Mapping[str, str] = {
    "ignores its mask": f"It IGNORES ITS MASK: {PADDING['ignores its mask']}, and the rest need not hold.",
    "fills holes": f"It FILLS HOLES in its mask: {PADDING['fills holes']}.",
    "16 bits": "It computes in 16 bits, too coarse to recognise anything: audit it in 32 or 64.",
    "drops its penalty": "Where a group's rewards agree (advantage 0) it has NO PENALTY: nothing constrains "
    "those prompts.",
    "left out": "Answers of advantage 0 are left out of the mean: the others count for more.",
    **dict.fromkeys(("divides by the padded length", "other"), f"It{PADDING['other'][2:]}."),
}
"""Alarms by fault of the mask, the precision or answers of advantage 0, worst first."""


def verdict_of(report: AuditReport) -> str:
    """Write the summary sentences, such as: k3 on policy samples: It has the gradient of the forward KL."""
    start = f"{report.loss} on {report.samples.replace('_', ' ')} samples: "
    if report.failed:
        return f"{start}could not be audited: {report.failures[0].what} (on {report.failures[0].problem})"
    alarms = _alarms(report)
    sentences = [*alarms[: MOST - 1], _main(report), *_further(report), *alarms[MOST - 1 :]][:MOST]
    # What is known of a loss stands before what is not, and later once only.
    place = sentences.index(_main(report)) + report.descended.exact
    declared = [report.declared] if report.samples == "policy" or not report.descended.exact else []
    return start + " ".join(filter(None, [*sentences[:place], *declared, *sentences[place:]]))


def _alarms(report: AuditReport) -> list[str]:
    wrong = {
        report.precision,
        report.reduction.padding if report.reduction else "",
        report.equal_groups.weight if report.equal_groups else "",
        "drops its penalty" if report.drops_penalty else "",
    }
    alarms = [words for kind, words in _ALARMS.items() if kind in wrong]
    terms = report.descended.all_terms if report.descended.exact else ()
    for coefficient, name in terms if any(name.startswith(REWARD) for _, name in terms) else ():
        if coefficient < 0 and "entropy" not in name and not name.startswith(REWARD):
            alarms.insert(0, f"It RAISES {plain(name)} beside the policy gradient: a sign error.")
    if report.mixes_answers:
        alarms.insert(0, "It MIXES ANSWERS: an answer's gradient depends on the advantages of the others.")
    for failure in report.failures:
        if failure.problem == SEVERAL:
            alarms.append(f"It FAILS on {SEVERAL} ({failure.what}): all this is about batches of one.")
    if report.equal_groups is not None and report.equal_groups.why:
        alarms.append(f"Where all advantages are 0, {report.equal_groups.why}.")
    return alarms


def _main(report: AuditReport) -> str:
    if report.batches is not None:
        return f"The answers of a batch change each other's gradient. In batches {report.batches.words}."
    single = report.descended.exact and report.scope == TOKENS and report.sequence_gradient.name != "failed"
    sentence = _sentence(report)
    if report.limits:
        sentence = f"{sentence[:-1]}, as long as {' and '.join(limit.words for limit in report.limits)}."
    return f"On single tokens, not on longer answers: {sentence}" if single else sentence


def _sentence(report: AuditReport) -> str:
    match = report.descended
    if match.name == "zero":
        return "Its gradient is ZERO in expectation: training on it changes nothing but noise."
    if not match.exact:
        return f"In expectation its gradient is {match.words}."
    reward = any(name.startswith(REWARD) for _, name in match.all_terms)
    if len(match.all_terms) == 1 and match.all_terms[0][0] < 0 and "entropy" not in match.name:
        fault = "LOWERS the expected reward" if reward else f"RAISES {plain(match.name)}"
        return f"It {fault}: a sign error."
    return f"{'This is' if reward else 'It has the gradient of'} {report.gradient_words}."


def _further(report: AuditReport) -> list[str]:
    """Sentences beyond the main one (limits, terms, reductions), the most important first."""
    sentences = [f"Outside that range: {limit.example}." for limit in report.limits[:1] if limit.example]
    names = {"other": "remaining"}
    terms = [
        f"its {names.get(term.name, term.name)} term is {term.words}"
        for term in report.terms
        if term.gradient.exact
    ]
    if terms and not report.descended.exact:
        sentences.append(f"For small log ratios {' and '.join(terms)}.")
    sentences += _value(report)
    if report.selects in _ENDS:
        sentences.append(f"{_ENDS[report.selects]} ({report.end}).")
    elif report.minimiser is not None:
        sentences.append(f"On correct samples {_MINIMISERS[report.minimiser.target]}.")
    elif report.acts_on == "no penalty" and report.descended.name == REWARD:
        sentences.append("No KL: nothing constrains the policy to the base.")
    failures = [failure for failure in report.failures if failure.problem != SEVERAL]
    if failures:
        sentences.append(f"It failed on {len(failures)} of the problems ({failures[0].what}).")
    return sentences


def _value(report: AuditReport) -> list[str]:
    """Sentence on the quantity that the logged value estimates, if exact and not that of the gradient."""
    bare, gradient = report.value.name.removesuffix(" + log A1"), report.gradient
    exact = report.value.exact and gradient.exact and not gradient.terms
    if not exact or "zero" in (bare, gradient.name) or bare == gradient.name:
        return []
    if gradient.name.startswith(REWARD):
        what = "entropy" if "entropy" in bare else "penalty"
        words = f"{report.value.words} is logged and constrains nothing"
        return [f"Its {what} has NO GRADIENT in expectation: {words}."]
    return [f"Its value, the number logged, estimates {plain(report.value.name)}."]
