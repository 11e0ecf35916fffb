import json
import os
from pathlib import Path

import pytest

from dph_theory.support.files import write_json, write_text


def test_infinities_become_strings_and_what_is_short_takes_one_line(tmp_path):
    inner = {"a": list(range(1000)), "b": [{"c": [1, 2], "d": None}] * 60, "e": [], "f": {"x": "y" * 500}}
    write_json(tmp_path / "a.json", {"x": [float("inf"), -float("inf"), 1.5, None], **inner})
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text) == {"x": ["inf", "-inf", 1.5, None], **inner}
    assert len(text.splitlines()) == 1 + 1 + 1 + (1 + 60 + 1) + 1 + 1 + 1
    assert '\n  {"c":[1,2],"d":null},\n' in text
    with pytest.raises(TypeError, match="keys"):
        write_json(tmp_path / "a.json", {("a",): 1})


@pytest.mark.parametrize(("value", "error"), [(object(), TypeError), (2, KeyboardInterrupt)])
def test_a_failed_or_interrupted_write_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch, value, error):
    path = tmp_path / "a.json"
    write_json(path, {"good": 1})

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(error):
        write_json(path, {"new": value})
    assert json.loads(path.read_text()) == {"good": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named_by_the_file_that_it_had_no_room_for(tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match=r"Errno 28\] No space left on device: .*a\.json"):
        write_json(tmp_path / "a.json", 1)


def test_a_file_is_on_the_disk_before_it_takes_its_place_with_the_mode_of_any(tmp_path, monkeypatch):
    calls, sync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr("os.fsync", lambda handle: (calls.append("sync"), sync(handle)))
    monkeypatch.setattr("pathlib.Path.replace", lambda *paths: (calls.append("replace"), replace(*paths)))
    path, ordinary = tmp_path / "a.txt", tmp_path / "ordinary"
    ordinary.touch()
    write_text(path, "β\n")
    assert path.read_bytes() == "β\n".encode()
    assert calls == ["sync", "replace"]
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "target.json").write_text("old")
    (tmp_path / "link.json").symlink_to("target.json")
    write_json(tmp_path / "link.json", [1])
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "target.json").read_text() == "[1]\n"


def test_what_is_no_regular_file_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_json(pipe, [1])
    assert pipe.is_fifo()
    assert os.read(reader, 100) == b"[1]\n"
    os.close(reader)
    (tmp_path / "null").symlink_to(os.devnull)
    write_json(tmp_path / "null", [1])
    assert Path(os.devnull).is_char_device()
