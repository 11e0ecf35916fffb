"""The page on tasks of one's own, followed to the table that it promises."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.tiny_llama import ON_A_CPU, tiny_llama
from support.tiny_training import TRL_WARNS

from dph_cli import main

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
TRAIN = ON_A_CPU | {"max_steps": 2, "gradient_accumulation_steps": 1, "per_device_train_batch_size": 8}
SMALL = [f"train.{name}={json.dumps(value)}" for name, value in TRAIN.items()]
SMALL += ["sampling.max_new_tokens=4", "presample.k=4", "presample.threshold=4"]


def block(title):
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
def test_the_page_leads_from_a_task_to_a_table_of_pass_at_k(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    tiny_llama(tmp_path / "my-model", hidden=16, scale=2.0)
    for name in ("my_task.py", "own.yaml"):
        (tmp_path / name).write_text(block(name))
    for name, shift in (("questions", 0), ("test", 1)):
        rows = [{"prompt": f"p{i} p{7 - i} w{i + shift}", "answer": str(i % 5)} for i in range(8)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for line in block("to a table, with two seeds").splitlines():
        _, *words = shlex.split(line)
        more = SMALL if "own.yaml" in words else ()
        found = CliRunner().invoke(main, [*words, *more])
        assert found.exit_code == 0, (line, found.output)
    said = " ".join(found.output.split())
    for words in ("Changes against the base", "Pass@16", "own-seed0", "own-seed1", "mean of 2 seeds"):
        assert words in said
