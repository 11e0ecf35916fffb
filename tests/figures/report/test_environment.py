import platform

from figures.report import environment as module
from figures.report.environment import digest, environment


def test_it_tells_the_machine_and_the_versions():
    found = environment()
    assert found["python"] == platform.python_version()
    assert found["numpy"][0].isdigit()


def test_a_digest_changes_with_all_that_matters(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "a.py").write_text("x = 1\n")
    first = digest(("one",), 0, False)
    assert digest(("one",), 0, False) == first
    others = {digest(("one",), 1, False), digest(("one",), 0, True), digest(("one", "two"), 0, False)}
    (tmp_path / "one" / "a.py").write_text("x = 2\n")
    others.add(digest(("one",), 0, False))
    assert len(others | {first}) == 5
    (tmp_path / "one" / "a.py").write_text("x = 1\n")
    (tmp_path / "two" / "a.py").write_text("x = 2\n")
    assert digest(("one",), 0, False) == first
