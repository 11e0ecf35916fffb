"""One verifier for a task whose sets need several."""

from collections.abc import Mapping, Sequence

from dph_theory.support.errors import argument_error

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
        names = [self._known(example) for example in examples]
        for name, verifier in self._verifiers.items():
            mine = [at for at, wanted in enumerate(names) if wanted == name]
            if mine:
                answers = verifier([pairs[at][0] for at in mine], [pairs[at][1] for at in mine])
                scores |= dict(zip(mine, answers, strict=True))
        return [scores[at] for at in range(len(pairs))]

    def _known(self, example: Example) -> str:
        name = example.reference.get("verifier")
        if name not in self._verifiers:
            raise argument_error(f"verifier of {example.id!r}", name, f"one of {sorted(self._verifiers)}")
        return name
