"""What a kernel costs beside the run that it forecasts: both a prompt, by the length of the answers.

A *visit* of a prompt is a group of 16 answers generated at a step, one pass forward and one backward through
all, no reference model. A kernel takes of a prompt, with answers listed, the gradients of ten, and, with
answers sampled, so many answers generated and each one's gradient. Processor seconds of one torch thread, for
a tiny Llama of random weights and for SmolLM2-135M; prompts of 64 tokens. Beside them how many tokens pass
forward, where a pass backward counts as two, or as one where weights get no gradient: for models whose
products with weights are all that counts. Stored in benchmarks/results/price.json.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from stored import store

from full_scale.experiments.pretrained.training import pretrained_llama
from full_scale.models.load import located
from full_scale.tasks.llama import random_llama
from full_scale.transfer.answers import log_probs
from full_scale.transfer.gradients import Gradients
from full_scale.transfer.sketch import Sketch

GROUP, LISTED, SAMPLED, PROMPT = 16, 10, 32, 64
LENGTHS = {"tiny Llama": (1, 16, 64, 256), "SmolLM2-135M": (1, 16, 64)}
LARGE = 1000
"""The length whose counts alone are given."""


def passes(length: int) -> dict[str, float]:
    """Tokens of a pass forward: of a visit, and of a prompt's kernel."""
    whole = PROMPT + length
    visit = PROMPT + GROUP * length + 3 * GROUP * whole
    listed = PROMPT * (1 + LISTED) if length == 1 else 2 * LISTED * whole
    return {"visit": visit, "listed": listed, "sampled": PROMPT + SAMPLED * length + 2 * SAMPLED * whole}


def generated(model: Any, count: int, length: int) -> list[tuple[int, ...]]:
    """Answers of this length to one prompt."""
    ids = torch.arange(1, PROMPT + 1).repeat(count, 1)
    drawn = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, min_new_tokens=length,
                           max_new_tokens=length, pad_token_id=0)  # fmt: skip
    return [tuple(row.tolist()) for row in drawn[:, PROMPT:]]


def visit(model: Any, length: int) -> None:
    """A group's answers, and the gradient of their loss."""
    answers = generated(model, GROUP, length)
    ids = torch.tensor([[*range(1, PROMPT + 1), *answer] for answer in answers])
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=length + 1).logits[:, :-1]
    scores = logits.log_softmax(-1).gather(2, ids[:, PROMPT:, None]).sum(dim=(1, 2))
    (scores * torch.linspace(-1, 1, GROUP)).sum().backward()
    model.zero_grad()


def kernel(model: Any, gradients: Gradients, length: int, count: int, *, sampled: bool) -> None:
    """The gradients of a prompt's answers."""
    drawn = generated(model, count, length) if sampled else [(7 + i,) * length for i in range(count)]
    with gradients.watching():
        for scores in log_probs(model, range(1, PROMPT + 1), drawn):
            gradients(scores)


def seconds(case: Callable[[], None]) -> float:
    """Of the processor."""
    start = time.process_time()
    case()
    return time.process_time() - start


def main() -> None:
    """Measure and store."""
    torch.set_num_threads(1)
    tiny = random_llama(0, vocabulary=512, hidden=64, layers=2, heads=4, end=0).eval()
    rows = []
    for name, model in (("tiny Llama", tiny), ("SmolLM2-135M", pretrained_llama(located("smollm2")).model)):
        gradients = Gradients(model, Sketch())
        kernel(
            model, gradients, 1, LISTED, sampled=False
        )  # The first call sets how much of each matrix is kept.
        for length in LENGTHS[name]:
            cases = {
                "visit": partial(visit, model, length),
                "listed": partial(kernel, model, gradients, length, LISTED, sampled=False),
                "sampled": partial(kernel, model, gradients, length, SAMPLED, sampled=True),
            }
            measured = {case: seconds(run) for case, run in cases.items()}
            rows.append({"model": name, "length": length, "seconds": measured, "passes": passes(length)})
            print(rows[-1], flush=True)
    rows.append({"model": "any", "length": LARGE, "seconds": None, "passes": passes(LARGE)})
    sizes = {"group": GROUP, "listed": LISTED, "sampled": SAMPLED, "prompt": PROMPT}
    store("price", "torch", "transformers", **sizes, rows=rows)


if __name__ == "__main__":
    main()
