from pathlib import Path

import numpy as np
import pytest

from toy_lm import from_regex, problem, read_problem

EXAMPLE = Path(__file__).parents[3] / "examples/own_problem.toml"
BASE = {"initial": [0.6, 0.4], "transition": [[0.3, 0.7], [0.6, 0.4]]}


def written(folder, text=None, **changes):
    """The example's file with keys changed, None leaves one out; or one with this text."""
    said = {"alphabet": "ab", "length": 6, **BASE, "pattern": "(aa|bb)*"} | changes
    lines = (f"{key} = {value!r}" for key, value in said.items() if value is not None)
    path = folder / "mine.toml"
    path.write_text("\n".join(lines) if text is None else text)
    return path


def test_a_pattern_a_function_an_automaton_and_a_file_say_the_same(tmp_path):
    (tmp_path / "rules.py").write_text("def valid(text):\n    return text in ('aa', 'bb')\n")
    arrays = {name: np.array(rows) for name, rows in BASE.items()}
    made = [
        problem("ab", **BASE, valid="(aa|bb)", length=2),
        problem("ab", **BASE, valid=lambda text: text in ("aa", "bb"), length=2),
        problem("ab", **arrays, valid=from_regex("aa|bb", "ab"), length=2),
        read_problem(written(tmp_path, length=2, pattern=None, function="rules.py:valid")),
    ]
    assert [one.base_rates for one in made] == [pytest.approx([0.6 * 0.3 + 0.4 * 0.4])] * 4
    assert len(read_problem(EXAMPLE).valid_words) == 8


@pytest.mark.parametrize(("changes", "message"), [
    ({"text": "alphabet: ab"}, ""), ({"lenght": 6}, r"key='lenght' .*did you mean 'length'\?"),
    ({"length": "six"}, r"length='six' .*integer"), ({"alphabet": None}, r"alphabet is missing"),
    ({"initial": [0.6, 0.5]}, r"initial sums to 1\.1"),
    ({"transition": [[0.3, 0.7], [1.0]]}, r"transition=.* shape \(2, 2\)"),
    ({"transition": [[0.3, 0.7], [1.0, 0.0]]}, r"transition=.* every probability above 0"),
    ({"alphabet": "abc"}, r"initial=.* shape \(3,\)"), ({"pattern": "("}, r"pattern='\('"),
    ({"pattern": "a"}, r"length=6 .* accepts none"),
    ({"function": "rules.py:valid"}, r"\(pattern, function\)="),
    ({"pattern": None}, r"\(pattern, function\)=\(None, None\)"),
    ({"pattern": None, "function": "rules.py:valid"}, r"function='rules\.py:valid' .* the file in"),
    ({"pattern": None, "function": "mine.py:nothing"}, r"function='mine\.py:nothing' .* of a function"),
])  # fmt: skip
def test_what_is_wrong_in_a_file_is_named(tmp_path, changes, message):
    (tmp_path / "mine.py").write_text("answer = 42\n")
    with pytest.raises(ValueError, match=rf"mine\.toml: .*{message}"):
        read_problem(written(tmp_path, **changes))


FAILED = r"function='rules\.py:valid' failed on 'aaaaaa': "
NOT_RUN = r"rules\.py could not be run: "


@pytest.mark.parametrize(("code", "message"), [
    ("def valid(text):\n    return text.index('c') > 0\n", FAILED + r"ValueError: .* \(rules\.py, line 2\)"),
    ("def valid(text):\n    exit(3)\n", FAILED + r"it called sys\.exit\(3\) \(rules\.py, line 2\)"),
    ("def valid(text):\n    raise KeyError\n", FAILED + r"KeyError \(rules\.py, line 2\)"),
    ("def f():\n    1 / 0\ndef valid(text):\n    f()\n", FAILED + r"Zero.*: .* \(rules\.py, line 2\)"),
    ("\n\nlimit = 1 / 0\n", NOT_RUN + r"ZeroDivisionError: .* \(rules\.py, line 3\)"),
    ("def valid(text)\n    return True\n", NOT_RUN + r"SyntaxError: .* \(rules\.py, line 1\)"),
])  # fmt: skip
def test_what_a_function_raises_is_named_with_its_line(tmp_path, code, message):
    (tmp_path / "rules.py").write_text(code)
    with pytest.raises(ValueError, match=rf"mine\.toml: {message}"):
        read_problem(written(tmp_path, pattern=None, function="rules.py:valid"))
