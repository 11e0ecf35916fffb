import io
import os

import click
import pytest
from rich.console import Console

from dph_theory.support import terminal
from dph_theory.support.terminal import PIPED_WIDTH, Bars, OutputFile, OutputFolder, console


def test_piped_output_is_wide_enough_for_the_tables():
    assert console(file=io.StringIO()).width == PIPED_WIDTH


def test_a_terminal_keeps_its_own_width():
    assert console(file=io.StringIO(), force_terminal=True, width=60).width == 60


def test_errors_go_to_their_own_stream():
    assert console(stderr=True).stderr
    assert not console().stderr


def test_a_pipe_that_nobody_reads_is_an_error_of_its_own():
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    with pytest.raises(BrokenPipeError):
        console(file=stream).print("word")
    with pytest.raises(BrokenPipeError):
        stream.close()


@pytest.mark.parametrize("name", ["-", "new.json", "old.json", "link.json", "/dev/null"])
def test_a_file_that_can_be_written_is_given_back_untouched(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "link.json").symlink_to("old.json")
    assert str(OutputFile().convert(name, None, None)) == name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/x.json", "the folder .*missing does not exist"),
        ("here", "here is a folder"),
        ("/proc/x.json", "nothing can be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with pytest.raises(click.BadParameter, match=message):
        OutputFile().convert(name, None, None)


def test_bars_say_what_is_done_and_how_far():
    stream = io.StringIO()
    with Bars(on=console(file=stream), prefix="toy: ") as bars:
        bars.begin("fitting")
        bars("fitting", 2, 5, "loss [nats] 0.3")
        bars("drawing", 1, 1)
        bars("reading", 1, 9)
        bars.remove("reading")
        bars.remove("never begun")
    said = stream.getvalue()
    assert "toy: fitting" in said
    assert "2/5" in said
    assert "loss [nats] 0.3" in said
    assert "1/1" in said
    assert "reading" not in said


def test_hidden_bars_say_nothing():
    stream = io.StringIO()
    with Bars(on=console(file=stream), hidden=True) as bars:
        bars("fitting", 2, 5)
        bars.remove("fitting")
    assert stream.getvalue() == ""


def test_lines_end_a_stage_and_come_every_so_often_before(monkeypatch):
    clock = iter([0.0, 0.0, 30.0, 70.0, 80.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    written = io.StringIO()
    progress = terminal.lines(Console(file=written, width=80), every=60.0)
    for done, note in ((1, "loss 3"), (2, "loss 2"), (3, "loss 1"), (4, "")):
        progress("train", done, 4, note)
    assert written.getvalue().splitlines() == ["train: 3/4, 70 s, loss 1", "train: 4/4, 80 s"]


def test_a_stage_counts_from_where_it_began_and_not_from_its_first_report(monkeypatch):
    clock = iter([0.0, 100.0, 130.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    written = io.StringIO()
    progress = terminal.lines(Console(file=written, width=80))
    progress("presample", 1, 1)
    progress("train", 1, 1)
    assert written.getvalue().splitlines() == ["presample: 1/1, 100 s", "train: 1/1, 30 s"]


def test_a_bar_counts_from_where_its_stage_began(monkeypatch):
    bars = Bars(on=console(file=io.StringIO()), hidden=True)
    began = bars.get_time()
    monkeypatch.setattr(bars, "get_time", lambda: began + 100)
    bars("train", 1, 2)
    assert bars.tasks[0].elapsed >= 99


def test_a_folder_is_refused_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    new = tmp_path / "a" / "b"
    assert OutputFolder().convert(str(new), None, None) == new
    assert not new.parent.exists()
    for inside in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(click.BadParameter, match="file is no folder"):
            OutputFolder().convert(str(inside), None, None)
    with pytest.raises(click.BadParameter, match="nothing can be written"):
        OutputFolder().convert("/proc/nothing", None, None)
