"""Peak memory of log-probabilities of given completions, against one slice of logits and against all of them.

Each number of tokens is scored in a process of its own by a Llama of one narrow layer and a wide vocabulary.
Memory is the most the process held beyond what it held before. Bytes per token fall as tokens grow where
memory is bounded by a slice (`full_scale.models.log_probs.SLICE_BYTES`, what TRL's head makes beside it
included), and stay where all logits are held.
Prints the table and stores it, with the versions, in benchmarks/results/log_probs.json.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from stored import store

WORDS, HIDDEN, PROMPT, COMPLETION = 131_072, 32, 64, 192
ROWS = (4, 16, 64, 128)


def peak(folder: Path, rows: int) -> int:
    """Bytes held at the most while `rows` completions are scored at once, in this process."""
    from transformers import LlamaForCausalLM

    from full_scale.models.log_probs import sequence_logps

    model = LlamaForCausalLM.from_pretrained(folder).eval()
    texts = [[(7 * i + j) % WORDS for j in range(PROMPT + COMPLETION)] for i in range(rows)]
    sequence_logps(model, [texts[0][:2]], [texts[0][2:4]], 1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sequence_logps(
        model,
        [text[:PROMPT] for text in texts],
        [text[PROMPT:] for text in texts],
        1.0,
        batch_tokens=rows * (PROMPT + COMPLETION),
    )
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def measured(folder: Path) -> list[dict[str, Any]]:
    """A row for each number of rows scored at once."""
    from full_scale.models.log_probs import SLICE_BYTES

    lines = []
    for rows in ROWS:
        command = [sys.executable, __file__, "--rows", str(rows), "--model", str(folder)]
        bytes_held = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        tokens = rows * (PROMPT + COMPLETION)
        lines.append(
            {
                "tokens": tokens,
                "bytes_per_token": bytes_held / tokens,
                "slice_bytes_per_token": SLICE_BYTES / tokens,
                "all_logits_bytes_per_token": 2 * 4 * WORDS * COMPLETION / (PROMPT + COMPLETION),
            }
        )
    return lines


def main() -> None:
    """Measure everything and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="these rows alone, in this process")
    parser.add_argument("--model", type=Path, help="the folder of the model, with --rows")
    options = parser.parse_args()
    if options.rows is not None:
        print(peak(options.model, options.rows))
        return
    from full_scale.tasks.llama import random_llama

    sizes = {"vocabulary": WORDS, "hidden": HIDDEN, "layers": 1, "heads": 1, "end": 0}
    with tempfile.TemporaryDirectory() as folder:
        random_llama(
            0, **sizes, intermediate_size=2 * HIDDEN, max_position_embeddings=PROMPT + COMPLETION
        ).save_pretrained(folder)
        rows = measured(Path(folder))
    table = Table("tokens at once", "bytes a token", "one slice", "all logits and their log-softmax")
    for row in rows:
        table.add_row(*(f"{value:,.0f}" for value in row.values()))
    Console(width=120).print(table)
    store("log_probs", "torch", "transformers", "trl", model=sizes, rows=rows)


if __name__ == "__main__":
    main()
