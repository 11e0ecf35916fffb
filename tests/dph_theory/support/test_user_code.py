"""What a user's file raised, with its line."""

import runpy

import pytest

from dph_theory.support.user_code import blamed


def raised(path, code):
    path.write_text(code)
    with pytest.raises((Exception, SystemExit)) as caught:
        runpy.run_path(str(path))
    return blamed(caught.value, path)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\ny = x / 0\n", "ZeroDivisionError: division by zero (mine.py, line 2)"),
        ("import json\n\njson.loads('{')\n", "(mine.py, line 3)"),
        ("raise KeyError\n", "KeyError (mine.py, line 1)"),
        ("import sys\nsys.exit('done')\n", "it called sys.exit('done') (mine.py, line 2)"),
        ("def f():\n    return 1 / 0\nf()\n", "ZeroDivisionError: division by zero (mine.py, line 2)"),
        ("x = (\n", "SyntaxError: '(' was never closed (mine.py, line 1)"),
    ],
)
def test_the_last_line_of_the_file_is_named(tmp_path, code, said):
    assert raised(tmp_path / "mine.py", code).endswith(said)


def test_an_error_from_elsewhere_names_no_line(tmp_path):
    assert blamed(ValueError("not yours"), tmp_path / "mine.py") == "ValueError: not yours"
