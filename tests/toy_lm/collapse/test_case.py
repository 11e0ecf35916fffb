from pathlib import Path

import numpy as np
import pytest

from toy_lm import from_regex, problem, read_problem
from toy_lm.collapse import Config, run
from toy_lm.collapse.experiment import fits

EXAMPLE = Path(__file__).parents[3] / "examples/own_problem.toml"
BASE = {"initial": [0.6, 0.4], "transition": [[0.3, 0.7], [0.6, 0.4]]}
QUICK = Config(
    strengths=(20.0,), alphas=(0.5,), targets=(0.01, 0.5), starts=1, ascent_steps=16, stages=1, rounds=1
)


def in_pairs(text):
    return text.replace("aa", "").replace("bb", "") == ""


def written(folder, **changes):
    """The example's file with keys changed; None leaves one out."""
    said = {"alphabet": "ab", "length": 6, **BASE, "pattern": "(aa|bb)*"} | changes
    path = folder / "mine.toml"
    lines = (f"{key} = {value!r}" for key, value in said.items() if value is not None)
    path.write_text("\n".join(lines))
    return path


def test_a_pattern_a_function_an_automaton_and_a_file_say_the_same(tmp_path):
    (tmp_path / "rules.py").write_text("def valid(text):\n    return text in ('aa', 'bb')\n")
    made = [
        problem("ab", **BASE, valid=valid, length=2)
        for valid in ("(aa|bb)", lambda text: text in ("aa", "bb"), from_regex("aa|bb", "ab"))
    ]
    made.append(read_problem(written(tmp_path, length=2, pattern=None, function="rules.py:valid")))
    assert [one.base_rates for one in made] == [pytest.approx([0.6 * 0.3 + 0.4 * 0.4])] * 4


def test_the_example_is_fitted_and_its_record_read():
    found = read_problem(EXAMPLE)
    assert len(found.valid_words) == 8
    record = run(QUICK, problem=found)
    reference = record["results"]["reference"]
    assert record["results"]["random"] == []
    assert (reference["name"], reference["words"]) == ("pairs", 64)
    # A target below the base's pass rate is left out.
    assert {fit.get("mu") for fit in reference["fits"]} == {None, 0.5}
    assert record["config"]["problem"]["alphabet"] == "ab"
    _, best = (fit for fit in reference["fits"] if fit["objective"] == "forward_kl")
    # Pairs are a bigram law whose rows depend on the step.
    assert best["family"] == "inhomogeneous"
    assert best["coverage"] == pytest.approx(1)
    assert best["validity"] > 3 * found.base_rates[0]


def test_fits_are_of_one_base():
    from toy_lm.collapse.problem import random_brackets

    with pytest.raises(ValueError, match=r"problem\.cases=2 is not allowed: one base"):
        fits(random_brackets(2, 0), QUICK)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lenght": 6}, r"key='lenght' .*did you mean 'length'\?"),
        ({"length": "six"}, r"length='six' .*integer"),
        ({"alphabet": None}, r"alphabet is missing"),
        ({"initial": [0.6, 0.5]}, r"initial sums to 1\.1"),
        ({"transition": [[0.3, 0.7], [1.0]]}, r"transition=.* shape \(2, 2\)"),
        ({"transition": [[0.3, 0.7], [1.0, 0.0]]}, r"transition=.* every probability above 0"),
        ({"alphabet": "abc"}, r"initial=.* shape \(3,\)"),
        ({"pattern": "("}, r"pattern='\('"),
        ({"pattern": "a"}, r"length=6 .* accepts none"),
        ({"function": "rules.py:valid"}, r"\(pattern, function\)="),
        ({"pattern": None}, r"\(pattern, function\)=\(None, None\)"),
        ({"pattern": None, "function": "rules.py:valid"}, r"function='rules\.py:valid' .* the file in"),
        ({"pattern": None, "function": "mine.py:nothing"}, r"function='mine\.py:nothing' .* of a function"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, changes, message):
    (tmp_path / "mine.py").write_text("answer = 42\n")
    with pytest.raises(ValueError, match=rf"mine\.toml: .*{message}"):
        read_problem(written(tmp_path, **changes))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def valid(text):\n    return text.index('c') > 0\n",
            r"function='rules\.py:valid' failed on 'aaaaaa': ValueError: .* \(rules\.py, line 2\)",
        ),
        (
            "import sys\n\ndef valid(text):\n    sys.exit(3)\n",
            r"function=.* on 'aaaaaa': it called sys\.exit\(3\) \(rules\.py, line 4\)",
        ),
        ("\n\nlimit = 1 / 0\n", r"rules\.py could not be run: ZeroDivisionError: .* \(rules\.py, line 3\)"),
        (
            "def valid(text)\n    return True\n",
            r"rules\.py could not be run: SyntaxError: .* \(rules\.py, line 1\)",
        ),
    ],
)
def test_what_a_function_raises_is_named_with_its_line(tmp_path, code, message):
    (tmp_path / "rules.py").write_text(code)
    with pytest.raises(ValueError, match=rf"mine\.toml: {message}"):
        read_problem(written(tmp_path, pattern=None, function="rules.py:valid"))


def test_a_file_that_is_no_toml_is_named(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("alphabet: ab")
    with pytest.raises(ValueError, match=r"mine\.toml: "):
        read_problem(path)


def test_rows_may_be_arrays():
    table = np.array(BASE["transition"])
    assert problem("ab", initial=table[0], transition=table, valid=in_pairs, length=4).cases == 1
