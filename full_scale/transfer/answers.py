"""Choice of the answers that get a gradient of their own: listed with exact probabilities, or sampled."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..models.generation import Completion
from ..tasks.benchmarks import DataRow
from ..tasks.protocol import Score

Tokens = tuple[int, ...]
_CHECKED, _HARDLY, _OFTEN = 8, 1e-3, 0.02
"""Rows by which it is seen whether a model gives the listed answers; the probabilities that tell it."""


@dataclass(frozen=True)
class Listed:
    """A prompt whose correct answers are known, all of as many tokens."""

    name: str
    set: str
    prompt: Tokens
    right: tuple[Tokens, ...]


@dataclass(frozen=True)
class Atom:
    """Answers that move as one: their tokens, their share of all the prompt's, whether they are correct.

    A listed answer stands alone; its share is its probability, which the model has: None.
    """

    answers: tuple[Tokens, ...]
    share: float | None
    correct: bool


def listed_rows(rows: Sequence[DataRow], tokenizer: Any, default_set: str) -> list[Listed]:
    """Prompts with listed correct answers, from rows {"prompt", "answers"} with optional "set" and "id".

    ValueError for a row without answers, with answers of several lengths in tokens, or an empty one.
    """
    listed = []
    for row in rows:
        question, answers = row.text("prompt"), row.values.get("answers")
        if not isinstance(answers, list) or not all(isinstance(text, str) and text for text in answers):
            raise argument_error(
                f"{row.where}: answers", answers, "a list of correct answers, each some text"
            )
        before = tuple(tokenizer(question)["input_ids"])
        right = tuple(dict.fromkeys(_continued(tokenizer, question, before, answer) for answer in answers))
        if len({len(tokens) for tokens in right}) != 1:
            lengths = {answer: len(tokens) for answer, tokens in zip(answers, right, strict=False)}
            raise argument_error(
                f"{row.where}: answers", lengths, "of one length in tokens; else sample them"
            )
        name = str(row.values.get("id", question))
        listed.append(Listed(name, str(row.values.get("set", default_set)), before, right))
    return listed


def _continued(tokenizer: Any, text: str, before: Tokens, answer: str) -> Tokens:
    """Token ids of an answer that continues a text of token ids `before`; jointly tokenised if possible."""
    joint = tuple(tokenizer(text + answer)["input_ids"])
    if joint[: len(before)] == before and len(joint) > len(before):
        return joint[len(before) :]
    return tuple(tokenizer(answer, add_special_tokens=False)["input_ids"])


def require_likely_answers(model: Any, tokenizer: Any, rows: Sequence[DataRow]) -> None:
    """Raise ValueError if listed answers are unlikely as they stand, but likely after a space."""

    def probability(space: str) -> float:
        """Probability of a listed answer after `space`, a mean over the first rows."""
        shares = []
        for row in rows[:_CHECKED]:
            question = row.text("prompt")
            before = tuple(tokenizer(question)["input_ids"])
            texts = [text if text[:1].isspace() else f"{space}{text}" for text in row.values["answers"]]
            tokens = list({_continued(tokenizer, question, before, text) for text in texts})
            with torch.no_grad():
                shares.append(sum(float(x.exp().sum()) for x in log_probs(model, before, tokens)))
        return sum(shares) / max(len(shares), 1)

    if (plain := probability("")) < _HARDLY and (spaced := probability(" ")) > _OFTEN:
        answer = rows[0].values["answers"][0]
        allowed = f"answers as the model gives them: {f' {answer}'!r}, with a space before it"
        means = f"the listed answers have a mean probability of {plain:.2g}, with a space {spaced:.2g}"
        raise argument_error(f"{rows[0].where}: answers", answer, f"{allowed} ({means})")


def listed_atoms(model: Any, prompt: Listed, wrong: int) -> list[Atom]:
    """Atoms of the correct answers and of at most `wrong` likeliest incorrect ones of the same length."""
    candidates = likeliest(model, prompt.prompt, len(prompt.right[0]), wrong + len(prompt.right))
    incorrect = [answer for answer in candidates if answer not in prompt.right][:wrong]
    correctness = [*((answer, True) for answer in prompt.right), *((answer, False) for answer in incorrect)]
    return [Atom((answer,), share=None, correct=correct) for answer, correct in correctness]


def likeliest(model: Any, prompt: Tokens, length: int, count: int) -> list[Tokens]:
    """Likeliest continuations of `length` tokens by beam search of width `count`, the likeliest first."""
    beams: list[Tokens] = [()]
    weights = torch.zeros(1)
    for _ in range(length):
        rows = torch.tensor([[*prompt, *beam] for beam in beams], device=model.device)
        with torch.no_grad():
            logits = model(input_ids=rows, use_cache=False, logits_to_keep=1).logits[:, -1]
        total = weights[:, None] + logits.float().log_softmax(dim=-1).cpu()
        weights, flat = total.flatten().topk(min(count, total.numel()))
        vocabulary = total.shape[1]
        beams = [(*beams[int(i) // vocabulary], int(i) % vocabulary) for i in flat]
    return beams


def sampled_atoms(answers: Sequence[tuple[Completion, Score]], own: int) -> list[Atom]:
    """Atoms of judged answers: the `own` most frequent alone, the others together by correctness.

    An answer that was drawn once can show its kind only: its own gradient is not what another draw has.
    """
    verdicts = {answer.token_ids: score.correct for answer, score in answers}
    times = Counter(answer.token_ids for answer, _ in answers)
    alone = [tokens for tokens, n in times.most_common(own) if n > 1]
    atoms = [Atom((tokens,), times[tokens] / len(answers), verdicts[tokens]) for tokens in alone]
    for correct in (True, False):
        rest = [answer.token_ids for answer, _ in answers if answer.token_ids not in alone]
        rest = [tokens for tokens in rest if verdicts[tokens] is correct]
        if rest:
            atoms.append(Atom(tuple(rest), len(rest) / len(answers), correct))
    return atoms


def log_probs(model: Any, prompt: Sequence[int], answers: Sequence[Tokens]) -> Iterator[Tensor]:
    """Yield log-probabilities of the answers, (answers of a pass,); one-token answers share one pass."""
    device = model.device
    if all(len(answer) == 1 for answer in answers):
        ids = torch.tensor([list(prompt)], device=device)
        table = model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[0, -1].float().log_softmax(-1)
        yield table[[answer[0] for answer in answers]]
        return
    for answer in answers:
        ids = torch.tensor([[*prompt, *answer]], device=device)
        logits = model(input_ids=ids, use_cache=False, logits_to_keep=len(answer) + 1).logits[0, :-1]
        chosen = torch.tensor(answer, device=device)[:, None]
        yield logits.float().log_softmax(-1).gather(1, chosen).sum()[None]
