import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.drawing_checks import assert_drawn
from support.small_confrontation import small_confrontation, written

from dph_theory.checkpoints import Together
from dph_theory.checkpoints.cli import confront_command
from dph_theory.checkpoints.together import RunAmong
from dph_theory.intervals import Estimate
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, record
from figures.cli import figures_command
from figures.confront import CAPTIONS, Confronted, holds, page, read
from figures.style import LOOKS, Sheet

CHANGES = Estimate(0.1, 0.05, 0.2), Estimate(-0.3, -0.4, -0.1)


def named(name, **changed):
    found = small_confrontation()
    return replace(found, run=replace(found.run, name=name), **changed)


def along(*steps):
    return Together("base", 9, (1, 4), tuple(RunAmong("run", step, CHANGES, 1, 0) for step in steps))


GIVEN = Confronted([named("GRPO"), named("mine")], along(10, 20))


def stored(folder, given=GIVEN):
    path = folder / "found.json"
    write_json(path, record("confront", seed=0, config={}, results=as_json(given), findings=()))
    return path


def draw(path, *words):
    return CliRunner().invoke(figures_command, ["--confront", str(path), *map(str, words)])


def drawn(name, given=GIVEN, **how):
    sheet = Sheet(**how)
    with sheet.look():
        CAPTIONS[name][0](sheet, given)
        return sheet.finished()


@pytest.mark.parametrize("name", CAPTIONS)
def test_every_figure_is_drawn_well(name):
    """In a column: two panels side by side across the text have as much room."""
    assert_drawn(drawn(name, width="column"))


def test_a_figure_of_which_the_runs_hold_nothing_is_left_out(tmp_path):
    result = draw(stored(tmp_path, Confronted([named("GRPO")])), "along_steps", "--folder", tmp_path)
    assert [Path(line).name for line in result.output.split()] == ["confront.json", "index.html"]


def test_runs_are_told_apart_and_methods_have_their_colours():
    looks = GIVEN.looks
    assert looks["GRPO"] == LOOKS["GRPO"]
    assert looks["mine"]["color"] not in (LOOKS["GRPO"]["color"], "black")
    again = Confronted([named("GRPO 0.1"), named("GRPO 0.3")]).looks
    assert again["GRPO 0.1"]["color"] == LOOKS["GRPO"]["color"] != again["GRPO 0.3"]["color"]


def test_the_numbers_drawn_are_those_found():
    found = GIVEN.runs[0].curves
    left, right = drawn("pass_at_k").axes
    assert list(left.get_lines()[0].get_ydata()) == list(found.base)
    assert list(right.get_lines()[1].get_ydata()) == list(found.difference)
    lows = right.collections[0].get_paths()[0].vertices[:, 1]
    assert (lows.min(), lows.max()) == (min(found.low), max(found.high))
    steps = drawn("along_steps").axes[1].get_lines()[1]
    assert list(steps.get_xdata()) == [10, 20]
    laws = drawn("laws").axes[0]
    assert laws.get_title() == "best law rejected: 2 of 2"
    dots = {x for line in laws.get_lines() for x in line.get_xdata()}
    assert dots >= {line.held_out.value for line in GIVEN.runs[0].laws}
    rows = drawn("keep_and_explore").axes[0]
    assert [text.get_text() for text in rows.get_yticklabels()] == ["GRPO", "mine"]
    assert rows.get_ylim() == (1.5, -0.5)


def test_what_the_runs_do_not_hold_is_not_drawn_and_a_single_k_is():
    bare = Confronted([named("run", laws=())])
    assert [name for name in CAPTIONS if not holds(name, bare)] == ["laws", "along_steps"]
    found = small_confrontation()
    names = ("k", "base", "run", "difference", "low", "high")
    one = {name: getattr(found.curves, name)[:1] for name in names}
    single = replace(found, curves=replace(found.curves, **one), parts=found.parts[:1])
    assert_drawn(drawn("pass_at_k", Confronted([single])))


def test_the_mean_of_seeds_lies_within_the_axes():
    several = Together("base", 9, (1, 4), along(None, None).runs, CHANGES)
    right = drawn("pass_at_k", Confronted(GIVEN.runs, several)).axes[1]
    assert right.get_ylim()[0] < -0.4
    assert "mean of the seeds" in [line.get_label() for line in right.get_lines()]


def test_the_page_tells_all_and_asks_nobody():
    text = page(GIVEN, {"laws": b"<?xml?><svg></svg>"})
    words = unescape(text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert not re.search(r'(src|href)="https?:', text)
    assert "GRPO against base.jsonl: 50 prompts" in words
    assert GIVEN.runs[0].base.sha256 in words
    assert all(line.law in words for line in GIVEN.runs[0].laws)
    assert "All together" in words


def test_what_was_stored_is_read_as_it_was(tmp_path):
    given = Confronted([named("GRPO")], along(10, 20))
    again = read(stored(tmp_path, given))[1]
    assert (page(again, {}), again.together) == (page(given, {}), given.together)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--format", "exe"], "is not allowed"),
        (["pass_at_kk"], "figure='pass_at_kk' is not allowed"),
        (["--list"], "goes without --list"),
        (["--macros", "out/numbers.tex"], "does not exist"),
    ],
)
def test_wrong_usage_is_told_and_writes_nothing(tmp_path, words, says):
    result = draw(stored(tmp_path), *words, "--folder", tmp_path / "out")
    assert (result.exit_code, says in " ".join(result.output.split())) == (2, True), result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "needs the keys"),
        ("no", "run dph confront --json"),
        (json.dumps(record("confront", seed=0, config={}, results={}, findings=())), "Confronted.runs"),
    ],
)
def test_a_record_of_something_else_is_refused(tmp_path, text, says):
    path = tmp_path / "other.json"
    path.write_text(text)
    result = draw(path, "--folder", tmp_path / "out")
    assert (result.exit_code, says in " ".join(result.output.split())) == (2, True), result.output


def test_one_figure_for_a_column_without_titles_with_own_labels(tmp_path):
    base, after = written(tmp_path)
    labels = tmp_path / "labels.yaml"
    labels.write_text("run.jsonl: GRPO\nbase.jsonl: Base\n")
    out = tmp_path / "out"
    words = [base, after, "--labels", labels, "--draws", 20, "--json", tmp_path / "found.json"]
    result = CliRunner().invoke(confront_command, list(map(str, words)))
    assert result.exit_code == 0, result.output
    assert result.output.startswith("GRPO against Base: 50 prompts")
    words = ["pass_at_k", "--folder", out, "--width", "column", "--title", "none", "--venue", "icml"]
    result = draw(tmp_path / "found.json", *words, "--format", "svg")
    assert result.exit_code == 0, result.output
    found = {path.name for path in out.iterdir()}
    assert found == {"pass_at_k.svg", "pass_at_k.caption.tex", "confront.json", "index.html"}
    assert 'width="234pt"' in (out / "pass_at_k.svg").read_text()
    assert json.loads((out / "confront.json").read_text())["results"]["runs"][0]["base"]["name"] == "Base"
