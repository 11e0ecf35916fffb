"""One verifier for a task whose sets need several."""

from collections.abc import Mapping, Sequence

from dph_theory.support.errors import choice

from ..protocol import Example, Score, Verifier


class Dispatch:
    """Hands each example to the verifier that its `reference["verifier"]` names; ValueError for others."""

    def __init__(self, verifiers: Mapping[str, Verifier]) -> None:
        self._verifiers = dict(verifiers)

    def close(self) -> None:
        """Close every verifier."""
        for verifier in self._verifiers.values():
            verifier.close()

    def __call__(self, examples: Sequence[Example], completions: Sequence[str]) -> list[Score]:
        """One score for each pair, each verifier called once."""
        pairs = [*zip(examples, completions, strict=True)]
        scores: dict[int, Score] = {}
        for example in examples:
            choice(f"verifier of {example.id!r}", example.reference.get("verifier"), self._verifiers)
        for name, verifier in self._verifiers.items():
            mine = [at for at, (example, _) in enumerate(pairs) if example.reference["verifier"] == name]
            if mine:
                answers = verifier([pairs[at][0] for at in mine], [pairs[at][1] for at in mine])
                scores |= dict(zip(mine, answers, strict=True))
        return [scores[at] for at in range(len(pairs))]
