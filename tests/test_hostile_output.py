"""Names and values from files and arguments reach the terminal escaped, whatever the command."""

import json
import re

import pytest
from click.testing import CliRunner

import dph_cli

HOSTILE = "\x1b[31mX\x9b\u202e\x07"
"""Begins a control sequence in two ways, turns the direction of writing, rings."""
ESCAPED = json.dumps(HOSTILE)
"""As YAML, TOML and JSON have it."""
RECIPE = "extends: tiny-sql\nname: mine\n"
PROBLEM = 'alphabet = "ab"\nlength = 4\ninitial = [0.6, 0.4]\ntransition = [[0.3, 0.7], [0.6, 0.4]]\n'
SOURCE = f"raise ValueError({HOSTILE!r})\n"
FILES = {
    "ids.jsonl": "".join(json.dumps({"id": f"{HOSTILE}{i}", "n": 4, "c": 2}) + "\n" for i in range(3)),
    "twice.jsonl": (json.dumps({"id": HOSTILE, "n": 4, "c": 2}) + "\n") * 2,
    "columns.jsonl": json.dumps({HOSTILE: 1, "id": "a"}) + "\n",
    "reward.jsonl": (json.dumps({"id": "a", "prompt": "p", "reward": HOSTILE}) + "\n") * 2,
    "torn.jsonl": f'{{"a": {HOSTILE}\n',
    "columns.csv": f"id,{HOSTILE},n\n{HOSTILE},2,3\n",
    "method.yaml": f"{RECIPE}method: {{name: {ESCAPED}}}\n",
    "key.yaml": f"{RECIPE}{ESCAPED}: 4\n",
    "extends.yaml": f"extends: {ESCAPED}\n",
    "methods.yaml": f"{RECIPE}methods: {{{ESCAPED}: {{seed: 4}}}}\n",
    "train.yaml": f"{RECIPE}train: {{{ESCAPED}: 4}}\n",
    "value.yaml": f"{RECIPE}train: {{beta: {ESCAPED}}}\n",
    "divergence.yaml": f"{RECIPE}method: {{name: DPH-F, divergence: {json.dumps(HOSTILE + ':F')}}}\n",
    "places.yaml": f"{RECIPE}output: {ESCAPED}\nmodel: {{path: {ESCAPED}}}\ntask: {{data: {ESCAPED}}}\n",
    "deep.yaml": "[" * 5000,
    "raw.yaml": f"name: '{HOSTILE}\n",
    "name.toml": f'name = {ESCAPED}\n{PROBLEM}pattern = "("\n',
    "function.toml": f'name = "x"\n{PROBLEM}function = {json.dumps(f"f.py:{HOSTILE}")}\n',
    "key.toml": f'{ESCAPED} = "x"\n',
    "f.py": "def is_valid(text):\n    return True\n",
    "loss.py": f"def loss(log_pi, log_ref):\n    {SOURCE}def weights(rewards):\n    {SOURCE}",
    "train.py": f"from trl import GRPOConfig\nGRPOConfig(beta=0.04, loss_type={HOSTILE!r})\n",
    "toy_collapse.json": json.dumps({"kind": HOSTILE}),
}
ONE_FILE = {
    "compare": ("{0} {0}", (".jsonl", ".csv")),
    "predict trl beta=0.04 --counts": ("{0}", (".jsonl", ".csv")),
    "predict": ("{0}", (".yaml", ".py")),
    "train --config": ("{0} --dry-run", (".yaml",)),
    "train  --config": ("{0}", (".yaml",)),
    "toy collapse --quick --problem": ("{0}", (".toml",)),
    "audit loss": ("{0}:loss", ("loss.py",)),
    "audit advantage": ("{0}:weights", ("loss.py",)),
    "audit metric": ("{0}:weights", ("loss.py",)),
}
"""Commands, what follows them, and the files they are given one after the other."""
WORDS = (
    "predict trl {}=3", "predict trl beta={}", "predict {}", "train --config {}",
    "train --config tiny-sql {}", "train --config tiny-sql name={}", "toy styles --methods {}",
    "train --config tiny-sql method.name={}",
    "audit loss loss.py:{}", "audit loss {}", "audit catalogue {}", "figures {}", "figures --format {}",
    "figures collapse --numbers .", "figures mu_beta --numbers {}", "validate {}", "verify {}",
    "{}", "audit {}",
    "verify kl_control.pass_rate --json {}/{}/x", "experiment small-llama --only {}", "demo --folder f.py/{}",
    "count m {} --verifier exact --to c", "count m ids.jsonl --verifier {}:x --to c",
    "count m ids.jsonl --verifier exact --prompt {} --to c", "methods --config tiny-sql --methods {}",
    "count {} ids.jsonl --verifier exact --prompt id --answer id --to c --{}", "reproduce --to {}/a/b",
)  # fmt: skip


def cases():
    for command, (rest, suffixes) in ONE_FILE.items():
        for name in FILES:
            if name.endswith(suffixes):
                yield [*command.split(), *rest.format(name).split()]
    for words in WORDS:
        yield [word.replace("{}", HOSTILE) for word in words.split()]


@pytest.mark.parametrize("words", list(cases()), ids=lambda words: ascii(" ".join(words)))
def test_no_command_prints_control_characters_of_what_it_reads(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    result = CliRunner().invoke(dph_cli.main, words)
    assert re.findall("[\x1b\x9b\u202e\x07]", result.output) == []
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
