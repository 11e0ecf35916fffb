"""The page on one's own model, followed from the count of the base to the forecast, in files."""

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.tiny_llama import ON_A_CPU, WORDS, tiny_llama
from support.tiny_training import TRL_WARNS

from dph_cli import main
from dph_theory.checkpoints import read_counts

PAGE = Path(__file__).parents[3] / "docs" / "my-model.md"
SMALL = {"n=32": "n=4", "every=50": "every=2", "max_new_tokens=512": "max_new_tokens=6"}
SMALL |= {"max_steps=100": f"max_steps=4, max_completion_length=6, report_to=[], **{ON_A_CPU}"}
SMALL |= {"num_generations=8, ": "", "--n 64": "--n 8 --max-tokens 6", "step50": "step2"}


def block(title, changes=SMALL):
    text = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE.read_text(), re.DOTALL)[1]
    for given, small in changes.items():
        text = text.replace(given, small)
    return text


def commands(title):
    printed = []
    for line in block(title).splitlines():
        done = CliRunner().invoke(main, shlex.split(line)[2:], catch_exceptions=False)
        assert done.exit_code == 0, (line, done.output)
        printed.append(done.output)
    return printed


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
def test_the_page_leads_from_the_base_to_a_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    tiny_llama(tmp_path / "my-model", hidden=16, scale=2.0)
    for name in ("reward.py", "train.py"):
        (tmp_path / name).write_text(block(name, {}))
    rows = [{"id": f"q{i}", "prompt": f"p{i % 8} {WORDS[-i]}", "answer": f"w{i % 7}"} for i in range(1, 17)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    counted, predicted = commands("count and predict")
    assert "Pass@8" in counted
    assert "k3 with importance weight, coefficient 0.04" in " ".join(predicted.split())
    (tmp_path / "train.py").write_text(block("train.py"))
    runpy.run_path("train.py", run_name="__main__")
    for name, n in (("base", 8), ("counts/step0", 4), ("counts/step2", 4), ("counts/step4", 4)):
        counts = read_counts(f"{name}.jsonl")
        assert [*counts.rows] == [row["id"] for row in rows]
        assert {row.n for row in counts.rows.values()} == {n}
    (compared,) = commands("compare")
    assert "16 prompts" in compared
