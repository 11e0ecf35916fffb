import re

from dph_theory.coq import sources


def test_files_come_after_those_that_they_require():
    before = set()
    for path in sources.paths():
        required = re.findall(r"From Kernel Require Import ([\w ]+)\.", path.read_text())
        assert set(" ".join(required).split()) <= before, path.name
        before.add(path.stem)
    assert {path.stem for path in sources.paths(["Pinsker"])} == {"Laws", "Pinsker"}


def test_each_file_is_read_once_however_many_require_it(monkeypatch):
    reads, required = [], sources.required
    monkeypatch.setattr(sources, "required", lambda path: reads.append(path) or required(path))
    files = sources.paths()
    assert sorted(reads) == sorted(files)
