import re

from dph_theory.coq import sources


def test_files_come_after_those_that_they_require():
    before = set()
    for path in sources.paths():
        required = re.findall(r"From Kernel Require Import ([\w ]+)\.", path.read_text())
        assert set(" ".join(required).split()) <= before, path.name
        before.add(path.stem)
    assert {path.stem for path in sources.paths(["Pinsker"])} == {"Laws", "Pinsker"}
