"""The field's words: those that were replaced, and what stands in their place."""

import re

REPLACED = {
    r"\blaws?\b(?! of (?:answers|rates|large|nature))(?!\* in the code)": "stationary policy; converges to",
    r"\b(?:right|wrong) (?:answers?|ones?)\b": "correct, incorrect answer",
    r"\b(?:groups?'s?|batch(?:'s)?|their|sample|population) deviations?\b": "std; std-normalised",
    r"\b(?:tells?|told)\b": "reports, shows, distinguishes",
    r"\bdescends?\b": "minimises; has the gradient of",
    r"\bends? at\b": "converges to",
    r"\bverdicts?\b": "reward; status",
    r"\bway back\b|\bundrawn\b|\bif drawn\b": "recovery; on-policy, off-policy",
    r"\bluck\b": "sampling noise; seed variance",
    r"\bvalidity\b": "pass rate",
    r"\b(?:twins?|noiseless|noise-free)\b": "expected-gradient run",
    r"\brepairs?\b": "method",
    r"\bfalse neighbours?\b": "false variant",
    r"\b(?:holds?|nothing holds) (?:the policy|it|nothing|them|what|wrong)\b": "constrains to the reference",
    r"\bsteps? in logits\b": "effective logit step",
    r"\baims? at\b": "minimises, has as its target",
    r"\bdead zones?\b|\bno slope\b": "zero-gradient region",
    r"\bpull(?:s|ed)?\b": "gradient",
    r"\blotter(?:y|ies)\b": "seed-dependent winner",
    r"\b(?:plain|corrected) k3\b": "k3 without, with importance weight",
}
"""Terms that were replaced, as patterns, and the words that stand in their place."""
PRINTED = {
    r"\bstrengths?\b": "coefficient",
    r"\bheld\b(?![ -]out)": "matched, constant, tested; held-out prompts",
    r"\binstances?\b(?<!for instance)": "test case",
    r"\bwitness(?:es)?\b": "counterexample",
    r"\binstrument checks?\b": "sanity check",
    r"\beffective numbers?\b(?! of different)": "exp of the entropy",
    r"\bleast KL\b": "minimum of the KL",
    r"\blocally filtered model\b": "constrained decoding",
    r"\btoken forward limit\b": "small-beta limit of k3",
    r"\bfirst moves?\b": "first-step change",
    r"\bvalid mass(?:es)?\b": "pass rate",
    r"\b(?:within|outside) (?:the|its|their) bars?\b": "within, outside tolerance",
    r"\bproof kernel\b|\bkernel (?:of Coq|proves|checks)\b": "Coq proofs: the kernel is that of gradients",
    r"\b(?:strong|weak|an|without|no) anchors?\b|\banchored training\b": "penalty: an anchor is a prompt",
}
"""Further words that are not those of what is printed: pages, figures, help, tables' heads."""


def hits(text: str, *, printed: bool = True) -> list[str]:
    """The replaced terms in a text, each with what stands around it."""
    terms = (*REPLACED, *PRINTED) if printed else tuple(REPLACED)
    places = (hit for term in terms for hit in re.finditer(term, text, re.I))
    return [text[max(0, hit.start() - 30) : hit.end() + 30] for hit in places]
