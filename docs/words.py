"""Stored sentences in the words that docs and commands now use."""

_WORDS = {
    "all right or all wrong (no signal)": "all correct or all incorrect",
    "No single law of training fits": "No single KL-regularised optimum fits",
    "domains that tell it": "domains that show it",
    "right answers": "correct answers",
    "if right": "if correct",
    "if wrong": "if incorrect",
    "batch deviation": "batch std",
    "over its deviation": "over its std",
    "over the deviation": "over the std",
    "aims at p_* of each prompt": "has the base conditioned on being correct as its target",
    "aims at p_*": "has the base conditioned on being correct as its target",
    "aims at": "has as its target",
    "holds nothing of the others": "retains nothing of the others",
    "keeps": "retains",
    "keep ": "retain ",
}


def reworded(line: str) -> str:
    """The sentence with each term replaced that was stored before its name changed."""
    for before, now in _WORDS.items():
        line = line.replace(before, now)
    return line
