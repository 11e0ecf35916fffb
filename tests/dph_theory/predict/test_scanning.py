"""Small files with unusual forms: the settings in them, each with its line, and what stays open."""

import json

import pytest

from dph_theory.predict.scanning import scan
from dph_theory.predict.values import Unresolved

CELLS = {
    "cells": [
        {"cell_type": "markdown", "source": ["--beta 9"]},
        {"cell_type": "code", "source": ["%pip install trl\n", "BETA = 0.1\n"]},
        {"cell_type": "code", "source": ["if True:\n", "    !nvidia-smi\n", "a = GRPOConfig(beta=BETA)\n"]},
        {"cell_type": "code", "source": ["not python at all ("]},
    ]
}
# A file, its text, and the settings in it: values by name, each value with its line.
FILES = [
    ("a.sh", "python -m x a.b=1 --lr 2 --flag --name=word\n",
     {"a.b": [(1.0, "1")], "lr": [(2.0, "1")], "flag": [(True, "1")], "name": [("word", "1")]}),
    ("a.sh", "# a.b=1\npython a.b=2 # a.b=3\n", {"a.b": [(2.0, "2")]}),
    ("a.sh", "ARGS=(\n  --beta 0.1 # so\n  --n 8\n)\npython x.py ${ARGS[@]}\n",
     {"beta": [(0.1, "2")], "n": [(8.0, "3")]}),
    ("a.sh", "ARGS=(--beta 0.1)\nARGS+=(--n 8)\npython x.py \"${ARGS[@]}\"\n",
     {"beta": [(0.1, "1")], "n": [(8.0, "2")]}),
    ("a.sh", "python x.py ${RAY[@]} a.kl=$KL $@\n", {"a.kl": [(Unresolved("$KL"), "1")]}),
    ("a.sh", "KL=0.1\nKL=0.2\npython x.py a.kl=$KL\n", {"a.kl": [(0.2, "3 via 2")]}),
    ("a.sh", "KL=0.1\npython x.py a.kl=$KL\nKL=0.2\n", {"a.kl": [(0.1, "2 via 1"), (0.2, "2 via 3")]}),
    ("a.sh", "KL=${KL:-0.3}\npython x.py a.kl=${KL}\n", {"a.kl": [(0.3, "2 via 1")]}),
    ("a.sh", "python x.py a.kl=${KL:-${OTHER:-0.4}}\n", {"a.kl": [(0.4, "1")]}),
    ("a.sh", "if [ $1 = a ]; then\n  KL=0.1\nelse\n  KL=0.2\nfi\npython x.py a.kl=$KL\n",
     {"a.kl": [(0.1, "6 via 2"), (0.2, "6 via 4")]}),
    ("a.sh", "N=4\nM=$N\npython x.py a.n=$M\n", {"a.n": [(4.0, "3 via 2 via 1")]}),
    ("a.sh", "N=4\npython x.py a.n=$((N * 2)) a.m=$((4 * 2))\n",
     {"a.n": [(Unresolved("$((N*2))"), "2")], "a.m": [(8.0, "2")]}),
    ("a.sh", "python x.py a.kl=$(cat kl) a.n=`nproc`\n",
     {"a.kl": [(Unresolved("$(...)"), "1")], "a.n": [(Unresolved("$(...)"), "1")]}),
    ("a.sh", "python x.py --external_plugins plugin.py --beta 0.1 \\\n  --reward_funcs a b\n",
     {"external_plugins": [("plugin.py", "1")], "beta": [(0.1, "1")], "reward_funcs": [("a b \\", None)]}),
    ("a.sh", "OPTS=\"--beta 0.1 a.b='x y'\"\npython x.py $OPTS\n",
     {"beta": [(0.1, "1")], "a.b": [("x y", "1")]}),
    ("a.sh", "python x.py ++a.b=1 +c.d=2 --e-f 3\n",
     {"a.b": [(1.0, "1")], "c.d": [(2.0, "1")], "e_f": [(3.0, "1")]}),
    ("a.sh", "python x.py --beta 1e-3 > log.txt 2>&1 | tee a.log &\n", {"beta": [(0.001, "1")]}),
    ("a.sh", "python x.py --beta -0.5\n", {"beta": [(-0.5, "1")]}),
    ("a.sh", "bash below.sh --n 8\n", {"beta": [(0.7, "below.sh:1")], "n": [(8.0, "1")]}),
    ("a.sh", "bash absent.sh\n", {"settings of absent.sh": [(Unresolved("absent.sh"), "1")]}),
    ("a.yaml", "base: &b {kl: 0.1, n: 4}\nrun:\n  <<: *b\n  n: 8\n",
     {"run.kl": [(0.1, "1")], "run.n": [(8.0, "4")]}),
    ("a.yaml", "a: {b: 0.1}\nc: ${a.b}\nd: ${oc.env:X}\n",
     {"c": [(0.1, "1")], "d": [(Unresolved("${oc.env:X}"), "3")]}),
    ("a.yaml", "defaults: below\nb: 2\n", {"b": [(2.0, "2")], "c": [(3.0, "below.yaml:2")]}),
    ("a.yaml", "defaults: [absent, _self_]\nb: 2\n", {"settings of absent": [(Unresolved("absent"), "1")]}),
    ("a.yaml", "rates: [1, 2]\nsources:\n- {kl: 0.1}\n- {n: 4}\n",
     {"rates": [("1 2", "1")], "sources.kl": [(0.1, "3")], "sources.n": [(4.0, "4")]}),
    ("a.yaml", "_wandb: {value: {v: 1}}\nactor: {value: {kl: 0.1}}\nbeta: {desc: null, value: 2}\n",
     {"actor.kl": [(0.1, "2")], "beta": [(2.0, "3")]}),
    ("a.yaml", "beta: 0.1\n---\nbeta: 0.2\n", {"beta": [(0.1, "1")]}),
    ("a.yaml", "\ufeffbeta: ~\nname: 'no: comment' # beta: 3\n",
     {"beta": [(None, "1")], "name": [("no: comment", "2")]}),
    ("a.json",
     '{\n\t"a": {"b": true, "c": []},\n\t"d": "1e-3"}\n', {"a.b": [(True, "2")], "d": [(1e-3, "3")]}),
    ("a.toml", "[a.b]\nkl = 0.1 # so\n[[a.c]]\nn = 4\n[[a.c]]\nm = 5\nlong = [\n  1,\n]\n",
     {"a.b.kl": [(0.1, "2")], "a.c.n": [(4, "4")], "a.c.long": [(Unresolved("[...]"), "7")]}),
    ("a.py", "B = 0.1\nc = GRPOConfig('out', beta=B, n=-1, deep=f(beta=3))\nc.lr = 1e-6\n",
     {"GRPOConfig.beta": [(0.1, "2")], "GRPOConfig.n": [(-1, "2")], "c.lr": [(1e-6, "3")]}),
    ("a.py", "B = 0.1\nB = 0.2\nGRPOConfig(beta=B, **rest)\n",
     {"GRPOConfig.beta": [(Unresolved("B"), "3")], "GRPOConfig.**rest": [(Unresolved("**rest"), "3")]}),
    ("a.py", "p.add_argument('--beta', type=float, default=0.3)\nGRPOConfig(beta=args.beta)\n",
     {"GRPOConfig.beta": [(0.3, "2")]}),
    ("a.py", '"""Run:\n\npython x.py \\\n    --beta 0.1 \\\n    --n 8\n"""\n',
     {"beta": [(0.1, "4")], "n": [(8.0, "5")]}),
    ("a.py", "N = 8\nargs = '--beta 0.1 ' f'--n {N} --lr {rate} '\n",
     {"beta": [(0.1, "2")], "n": [(8.0, "2")], "lr": [(Unresolved("$(...)"), "2")]}),
    ("a.py", '"""python a.py --n 8 --lr 1\nvllm serve --port 80\n"""\nGRPOConfig(n=4, lr=args.lr)\n',
     {"GRPOConfig.n": [(4, "4")], "lr": [(1.0, "1")], "port": [(80.0, "2")]}),
    ("a.ipynb", json.dumps(CELLS), {"GRPOConfig.beta": [(0.1, "cell 2:3")]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "wanted"), FILES, ids=range(len(FILES)))
def test_the_settings_of_a_file_are_read_with_their_lines(tmp_path, name, text, wanted):
    (tmp_path / "below.sh").write_text("python x.py --beta 0.7\n")
    (tmp_path / "below.yaml").write_text("b: 1\nc: 3\n")
    (tmp_path / name).write_text(text, encoding="utf-8")
    settings = scan(tmp_path / name).settings
    for setting, values in wanted.items():
        found = [(one.value, one.where) for one in settings[setting]]
        if values[0][1] is not None:
            assert found == values
        assert [isinstance(value, Unresolved) for value, _ in found] == [
            isinstance(value, Unresolved) for value, _ in values
        ]


@pytest.mark.parametrize(("name", "text"), [("a.yaml", "a: [1\n"), ("a.json", '{"a": '), ("a.ipynb", "{}")])
def test_a_file_that_cannot_be_parsed_is_an_error_that_names_the_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=rf"{name}: cannot be parsed"):
        scan(tmp_path / name)


def test_an_option_of_a_docstring_stands_behind_the_code_and_is_conditional_in_some_commands(tmp_path):
    text = '"""Run:\n\npython a.py \\\n    --n 8 \\\n    --k 1\n\npython a.py --k 1 --m 2\n"""\nConfig(m=3)\n'
    (tmp_path / "a.py").write_text(text)
    settings = scan(tmp_path / "a.py").settings
    assert {name: [one.conditional for one in settings[name]] for name in ("n", "k")} == {
        "n": [True], "k": [False, False]}  # fmt: skip
    assert "m" not in settings


def test_files_that_name_each_other_are_read_once(tmp_path):
    (tmp_path / "a.yaml").write_text("defaults: b\nx: 1\n")
    (tmp_path / "b.yaml").write_text("defaults: a\ny: 2\n")
    assert {"x", "y"} <= scan(tmp_path / "a.yaml").settings.keys()
