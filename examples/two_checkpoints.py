"""What did training change? Two checkpoints of the built-in task, from counts that `dph demo` wrote.

Run: python examples/two_checkpoints.py [BASE.jsonl RUN.jsonl]
"""

import sys
from pathlib import Path

from dph_theory.checkpoints import compare, read_counts, sentences

HERE = Path(__file__).parent / "counts"


def main(base: Path = HERE / "base.jsonl", run: Path = HERE / "grpo.jsonl") -> None:
    """Tell it in a few lines, and name the prompts that training lost most clearly."""
    before, after = read_counts(base), read_counts(run)
    found = compare(before, after)
    for line in sentences(found):
        print(line)
    print("The clearest losses:")
    for prompt in found.fell[:5]:
        print(f"  {prompt.before:.2f} -> {prompt.after:.2f}  {prompt.id}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
