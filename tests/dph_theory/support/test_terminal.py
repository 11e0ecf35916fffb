import io
import os

import click
import pytest
from rich.console import Console

from dph_theory.support import terminal
from dph_theory.support.terminal import PIPED_WIDTH, Bars, OutputFile, OutputFolder, console


def test_a_pipe_is_wide_enough_for_the_tables_a_terminal_keeps_its_width_and_errors_their_stream(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console(file=io.StringIO()).width == PIPED_WIDTH
    monkeypatch.setenv("COLUMNS", "132")
    assert console(file=io.StringIO()).width == 132
    monkeypatch.delenv("COLUMNS")
    assert console(file=io.StringIO(), force_terminal=True, width=60).width == 60
    assert console(stderr=True).stderr != console().stderr


def test_what_is_said_is_nothing_that_a_terminal_obeys():
    stream = io.StringIO()
    terminal.say(console(file=stream, force_terminal=True), "error: \x1b]0;owned\x07\nnext")
    assert stream.getvalue() == "error: \\x1b]0;owned\\x07\nnext\n"


def test_a_pipe_that_nobody_reads_is_an_error_of_its_own():
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    with pytest.raises(BrokenPipeError):
        console(file=stream).print("word")
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_file_and_a_folder_that_can_be_written_are_given_back_untouched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "link.json").symlink_to("old.json")
    for name in ("-", "new.json", "old.json", "link.json", "/dev/null"):
        assert str(OutputFile().convert(name, None, None)) == name
    assert str(OutputFolder().convert("a/b", None, None)) == "a/b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


@pytest.mark.parametrize(("kind", "name", "message"), [
    (OutputFile, "missing/x.json", "the folder .*missing does not exist"),
    (OutputFile, "here", "here is a folder"), (OutputFile, "/proc/x.json", "nothing can be written"),
    (OutputFolder, "file", "file is no folder"), (OutputFolder, "file/below", "file is no folder"),
    (OutputFolder, "/proc/nothing", "nothing can be written"),
])  # fmt: skip
def test_what_cannot_be_written_is_refused(kind, name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(click.BadParameter, match=message):
        kind().convert(name, None, None)


def test_bars_say_what_is_done_and_how_far_and_hidden_ones_nothing():
    said = []
    for hidden in (False, True):
        stream = io.StringIO()
        with Bars(on=console(file=stream), prefix="toy: ", hidden=hidden) as bars:
            bars.begin("fitting")
            bars("fitting", 2, 5, "loss [nats] 0.3")
            bars("drawing", 1, 1)
            bars("reading", 1, 9)
            bars.remove("reading")
            bars.remove("never begun")
        said.append(stream.getvalue())
    assert all(part in said[0] for part in ("toy: fitting", "2/5", "loss [nats] 0.3", "1/1"))
    assert ("reading" not in said[0], said[1]) == (True, "")


@pytest.mark.parametrize(
    ("clock", "stages", "said"),
    [
        ([0, 0, 30, 70, 80], [("train", 4)], ["train: 3/4, 70 s, at 3", "train: 4/4, 80 s, at 4"]),
        # A stage counts from where it began, not from its first report.
        ([0, 100, 130], [("draw", 1), ("train", 1)], ["draw: 1/1, 100 s, at 1", "train: 1/1, 30 s, at 1"]),
    ],
)
def test_lines_end_a_stage_and_come_every_so_often_before(monkeypatch, clock, stages, said):
    ticks = iter(clock)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: float(next(ticks)))
    written = io.StringIO()
    progress = terminal.lines(Console(file=written, width=80), every=60.0)
    for stage, steps in stages:
        for step in range(1, steps + 1):
            progress(stage, step, steps, f"at {step}")
    assert written.getvalue().splitlines() == said


def test_a_bar_counts_from_where_its_stage_began(monkeypatch):
    bars = Bars(on=console(file=io.StringIO()), hidden=True)
    began = bars.get_time()
    monkeypatch.setattr(bars, "get_time", lambda: began + 100)
    bars("train", 1, 2)
    assert bars.tasks[0].elapsed >= 99
