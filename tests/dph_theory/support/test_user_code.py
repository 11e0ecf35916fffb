import random
import sys

import pytest

from dph_theory import FORWARD_KL
from dph_theory.divergences import named
from dph_theory.support.user_code import blamed, imported


def test_an_error_from_elsewhere_names_no_line(tmp_path):
    assert blamed(ValueError("not yours"), tmp_path / "mine.py") == "ValueError: not yours"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("divergence_of_mine", "random"):
        (tmp_path / f"{name}.py").write_text("from dph_theory import FORWARD_KL\nOWN = FORWARD_KL\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    return tmp_path


@pytest.mark.parametrize("name", ["divergence_of_mine:OWN", "divergence_of_mine.py:OWN", "random.py:OWN"])
def test_a_divergence_of_a_users_own_is_found(folder, name):
    assert named(name) is FORWARD_KL


@pytest.mark.parametrize(
    ("declared", "message"),
    [("lambda u: none", "declared='mine'.*none"), ("lambda u: -(u - 1) ** 2", "a convex f of u")],
)
def test_a_wrong_declaration_is_refused_with_its_name(folder, declared, message):
    code = "from dph_theory.fdivergence import FDivergence"
    (folder / f"own{len(declared)}.py").write_text(f"{code}\nOWN = FDivergence('mine', {declared})\n")
    with pytest.raises(ValueError, match=message):
        named(f"own{len(declared)}.py:OWN")


@pytest.mark.parametrize(
    ("name", "message"),
    [("random:OWN", "an FDivergence"), ("none.py:OWN", "no Python file"), ("none:OWN", "none")],
)
def test_what_is_no_divergence_is_named(folder, name, message):
    with pytest.raises(ValueError, match=f"divergence='{name}'.*{message}"):
        named(name)
    assert imported("random") is random
