"""Initial model: a small Llama trained from scratch to answer in five idioms, with some errors."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from dph_theory.support.errors import argument_error
from dph_theory.support.progress import Progress

from ..llama import random_llama, word_level
from ..verifiers.sql_judge import words
from .questions import Question, slip

PAD, EOS, UNKNOWN = "<pad>", "<eos>", "<unk>"


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Tokeniser of the words in the texts, in alphabetical order after the special tokens.

    Decoding joins words by single spaces, so texts with single spaces round-trip. Other words are <unk>.
    """
    different = sorted({word for text in texts for word in text.split()} - {PAD, EOS, UNKNOWN})
    settings = {"pad_token": PAD, "eos_token": EOS, "clean_up_tokenization_spaces": False}
    return word_level((PAD, EOS, UNKNOWN, *different), UNKNOWN, **settings)


STYLES = {
    "count_star": "SELECT COUNT ( * ) FROM {source}",
    "count_column": "SELECT COUNT ( {column} ) FROM {source}",
    "count_distinct": "SELECT COUNT ( DISTINCT {column} ) FROM {source}",
    "subquery": "SELECT COUNT ( * ) FROM ( SELECT DISTINCT {column} FROM {source} )",
    "sum_case": "SELECT SUM ( CASE WHEN {column} IS NULL THEN 0 ELSE 1 END ) FROM {source}",
}  # Template of each style, its words separated by spaces.


def written(style: str, column: str, source: str) -> str:
    """SQL query in that style; `source` is a table, with a WHERE clause if there is one."""
    return STYLES[style].format(column=column, source=source)


def style_of(sql: str) -> str | None:
    """Style of a query, or None for a query that is not a single SELECT (or WITH ... SELECT) of any style.

    The only column of the outermost SELECT decides, and for COUNT(*) its source: a derived table, inline or
    named by WITH, makes it `subquery`. Case, spacing, comments, quoting and quoted text are ignored.
    """
    parts = words(sql.strip().removesuffix(";"))
    texts, signs = [word.text for word in parts], [word.text for word in parts if word.kind == "other"]
    broken = {";", "'", '"'}.intersection(signs) or signs.count("(") != signs.count(")")
    if broken or min((word.depth for word in parts), default=0) < 0:
        return None
    top = [i for i, word in enumerate(parts) if word.depth == 0 and word.kind == "word"]
    selects = [i for i in top if texts[i] == "SELECT"]
    froms = [i for i in top if texts[i] == "FROM"]
    if len(selects) != 1 or len(froms) != 1 or not selects[0] < froms[0] < len(parts) - 1:
        return None
    start, end = selects[0], froms[0]
    named = start > 0
    if named and texts[0] != "WITH":
        return None
    derived = texts[end + 1] == "(" or (named and texts[end + 1] in texts[1:start])
    return _idiom(texts[start + 1 : end], derived=derived)


def _idiom(column: list[str], *, derived: bool) -> str | None:
    if "AS" in column[-2:-1]:
        column = column[:-2]
    match column:
        case ["COUNT", "(", "*", ")"]:
            return "subquery" if derived else "count_star"
        case ["COUNT", "(", "DISTINCT", *counted, ")"] if _is_column(counted):
            return "count_distinct"
        case ["COUNT", "(", *counted, ")"] if _is_column(counted):
            return "count_column"
        case ["SUM", "(", "CASE", *_, "END", ")"]:
            return "sum_case"
    return None


def _is_column(names: list[str]) -> bool:
    """True if the words name a column, with or without a table name before it."""
    return len(names) in (1, 3) and names[0] not in ("*", ")", "DISTINCT") and names[1:2] in ([], ["."])


IGNORED = -100  # Label of tokens without a loss, as in transformers.


@dataclass(frozen=True)
class Habits:
    """Answers of the initial model to every question: the share of each style, and of incorrect answers."""

    shares: tuple[float, ...] = (0.3, 0.25, 0.2, 0.15, 0.1)  # In the order of STYLES.
    slips: float = 0.12

    def __post_init__(self) -> None:
        if len(self.shares) != len(STYLES) or min(self.shares) < 0 or not math.isclose(sum(self.shares), 1):
            raise argument_error("habits", self.shares, f"shares of {list(STYLES)} that sum to one")
        if not 0 <= self.slips < 1:
            raise argument_error("habits.slips", self.slips, "a share in [0, 1)")


@dataclass(frozen=True)
class Architecture:
    """Sizes of the Llama and length of its training; by default about 0.2 million weights."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    steps: int = 600
    batch: int = 64
    learning_rate: float = 4e-3
    device: str = "cpu"


def llama(tokenizer: PreTrainedTokenizerFast, sizes: Architecture, seed: int) -> LlamaForCausalLM:
    """A Llama of these sizes with random weights; the caller's random state is unchanged."""
    return random_llama(
        seed,
        vocabulary=len(tokenizer),
        hidden=sizes.hidden,
        layers=sizes.layers,
        heads=sizes.heads,
        end=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        intermediate_size=4 * sizes.hidden,
        max_position_embeddings=256,
        # The usual 0.02 suits wide models; with it a narrow one takes thousands of steps to learn to copy.
        initializer_range=sizes.hidden**-0.5,
        tie_word_embeddings=True,
    )


def answer(question: Question, habits: Habits, rng: np.random.Generator) -> str:
    """Draw a target answer for the initial model: a style by its share, sometimes with a slip."""
    style = tuple(STYLES)[rng.choice(len(STYLES), p=habits.shares)]
    sql = written(style, question.table.thing, question.source)
    return slip(question, sql, rng) if rng.random() < habits.slips else sql


def learn(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    questions: Sequence[Question],
    habits: Habits,
    sizes: Architecture,
    seed: int,
    progress: Progress,
) -> float:
    """Fit the model to fresh answers at every step; returns the mean loss of the last tenth in nats.

    Only answers and their end are learnt, not prompts. Adam, cosine schedule after a short warm-up.
    """
    rng = np.random.default_rng(seed)
    model.to(sizes.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=sizes.learning_rate, weight_decay=0.0)
    warm_up = max(1, sizes.steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * step / sizes.steps)),
    )
    losses = []
    for step in range(sizes.steps):
        chosen = [questions[i] for i in rng.integers(len(questions), size=sizes.batch)]
        pairs = [(question.prompt, answer(question, habits, rng)) for question in chosen]
        tokens, labels = (batch.to(sizes.device) for batch in _batch(tokenizer, pairs))
        loss = model(input_ids=tokens, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        progress("learning", step + 1, sizes.steps)
    model.to("cpu").eval()
    return float(np.mean(losses[-max(1, sizes.steps // 10) :]))


def _batch(
    tokenizer: PreTrainedTokenizerFast, pairs: Sequence[tuple[str, str]]
) -> tuple[Int[Tensor, "batch tokens"], Int[Tensor, "batch tokens"]]:
    """Tokens of prompt, answer and end, and labels; padded on the right, which no token attends to."""
    prompts = [tokenizer(prompt)["input_ids"] for prompt, _ in pairs]
    answers = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for _, text in pairs]
    width = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
    tokens = torch.full((len(pairs), width), tokenizer.pad_token_id)
    labels = torch.full((len(pairs), width), IGNORED)
    for row, (prompt, text) in enumerate(zip(prompts, answers, strict=True)):
        end = len(prompt) + len(text)
        tokens[row, :end] = torch.tensor(prompt + text)
        labels[row, len(prompt) : end] = torch.tensor(text)
    return tokens, labels
