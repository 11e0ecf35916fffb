"""README and docs: links resolve, generated pages are up to date, blocks run, commands exist, sites build."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
import support.worked_examples as worked
from click.testing import CliRunner
from support.shown_text import assert_shown_alike

import dph_cli
from dph_theory.losses import METHODS
from dph_theory.theorems import SUBJECTS, THEOREMS
from figures.catalogue import NAMES
from figures.frames import Records
from figures.gallery import pretrained, transfer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
READ, APPENDIX = sorted(DOCS.glob("*.md")), sorted(DOCS.glob("appendix/*.md"))
"""Pages to be read, and those that have every number."""
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *READ, *APPENDIX]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
WORKED = DOCS / "extending.md"
TOURS = ("noise-steps-objective", "train", "two-checkpoints", "proved")
TOLD = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in TOURS)]
"""Pages whose Python runs and whose commands are tried."""
COUNTED = (4, 0, 8, 0, 13, 7, 12, 0, 7, 1, 3, 0)
"""Correct answers of sixteen to the twelve prompts of `examples`, as `dph count` found them."""
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def prose(page):
    return re.sub(r"`[^`]*`", "", FENCED.sub("", page.read_text()))


def anchors(page):
    """The anchors that GitHub and mkdocs give a page's headings."""
    heads = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_the_figures_of_claims_are_figures():
    assert {theorem.source.figure for theorem in THEOREMS.values()} - {""} <= {*NAMES}


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not target.startswith("https://"):
            file, _, anchor = target.partition("#")
            there = (page.parent / file).resolve() if file else page
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


@every_page
def test_a_page_within_the_site_links_to_pages_of_the_site(page):
    if DOCS in page.parents:
        for target in re.findall(r"\]\(([^)\s#]+)", prose(page)):
            there = (page.parent / target).resolve()
            assert target.startswith("https://") or DOCS in there.parents, target


def test_generated_pages_are_up_to_date():
    for path, text in module(DOCS / "generate.py").generated().items():
        assert_shown_alike(text, path.read_text(), f"{path.name} is old: run python docs/generate.py")


def test_the_readme_is_short_and_the_pages_are_few():
    assert len((ROOT / "README.md").read_text().splitlines()) < 90
    assert len(READ) <= 13
    templates = {path.name: path for path in (DOCS / "templates").rglob("*.md")}
    by_hand = [templates.get(page.name, page) for page in (*READ, *APPENDIX) if page.stem != "gallery"]
    generated_blocks = re.compile(r"<!-- made by.*?<!-- end -->", re.S)
    words = (generated_blocks.sub("", path.read_text()).split() for path in (*by_hand, ROOT / "README.md"))
    assert sum(map(len, words)) <= 16_000


@pytest.mark.parametrize("page", [*READ, *APPENDIX], ids=lambda page: page.stem)
def test_a_page_answers_its_question_first_and_its_tables_can_be_read(page):
    title, first = re.sub(r"\A<!--.*?-->\n\n", "", page.read_text()).split("\n\n")[:2]
    assert title.startswith("# ")
    assert "\n" not in title
    assert "?" in title + first
    assert first.startswith("**")
    heads = re.findall(r"^(\|.*\|)\n\| ?-", FENCED.sub("", page.read_text()), re.M)
    assert all(head.count("|") <= 7 for head in heads), page.name


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in (*READ, *APPENDIX) if page.name not in nav] == []


def test_an_entry_that_a_page_names_is_in_the_registry():
    subjects = "|".join(SUBJECTS)
    for page in PAGES:
        for name in re.findall(rf"`((?:{subjects})\.(?!py\b)\w+)`", page.read_text()):
            assert name in THEOREMS, (page.name, name)


def blocks(page):
    """Commands of a page's console blocks, each with what they print."""
    found = (text for language, _, text in worked.BLOCK.findall(page.read_text()) if language == "console")
    return [pair for text in found for pair in worked.commands(text)]


def test_the_readme_s_journey_is_as_it_is_printed_and_its_end_the_stored_one(tmp_path):
    readme = ROOT / "README.md"
    (count, predict, forecast) = [pair for pair in blocks(readme) if pair[1]]
    for name, (command, said) in (("count", count), ("transfer", forecast)):
        journey = (DOCS / "transcripts" / f"{name}.txt").read_text()
        assert journey.startswith(f"$ {command}\n{said.removesuffix('...' + chr(10))}")
    rows = [{"id": f"{i}", "n": 16, "c": c} for i, c in enumerate(COUNTED)]
    (tmp_path / "base.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert f"Pass@1   {sum(COUNTED) / 16 / 12:.3f} " in count[1]
    worked.run(*predict, tmp_path)
    numbers = transfer.numbers(Records())
    # The runs of these very prompts and settings: those of the methods train four solved prompts beside them.
    own = {"tasks": (transfer.TASK,), "method": "GRPO", "coefficient": 0.0, "anchors": 0, "steps": 20}
    own["model"] = None
    ((_, run),) = transfer.rows_with(numbers["settings"], learning_rate=1e-5, **own).iterrows()
    end = f"{run['measured 256']:.3f} (+- {run['measured_spread 256']:.3f} over seeds)"
    trained = f"a trained Pass@1 of {run['trained_measured 1']:.3f}"
    assert f"{run.seeds} runs of the last settings on their prompts" in readme.read_text()
    assert f"ended at {end}, at {trained}." in readme.read_text()
    settings = transfer.methods(numbers)
    weak = transfer.rows_with(settings, method="GRPO", kl="k3_corrected", coefficient=0.04).iloc[0]
    fall = f"fell from {weak['base 256']:.3f} to {weak['measured 256']:.3f} in 20 steps"
    assert fall in (DOCS / "my-model.md").read_text()
    near = f"{transfer.agreement(numbers)['correlation']:.2f}"
    words = " ".join((DOCS / "predict.md").read_text().split())
    assert (
        f"Over {len(settings)} methods and coefficients predicted and measured Pass@256 correlate at {near}"
        in words
    )


@pytest.mark.parametrize("page", ["predict.md", "will-my-run-lose-pass-at-k.md"])
def test_what_a_page_s_command_on_stored_files_prints_is_what_stands_there(page, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "rates.json").write_text('{"sum": 0.25, "product": 0.1}')
    tried = [worked.run(command, said, tmp_path) for command, said in blocks(DOCS / page) if said]
    assert tried


def told(page, row):
    """The cells of a table's row by its first."""
    (line,) = [line for line in (DOCS / page).read_text().splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in line.strip("| ").split("|")]


def test_no_kl_and_reverse_kl_are_the_methods_that_have_none_and_that_descend_it():
    styles = Records().styles.query("main and split == 'train'").groupby("label")[[1, 16]].mean()
    shown = " / ".join(f"{styles[16][label]:.3f}" for label in ("base", "DAPO", "reverse 0.3", "DPH-F 0.3"))
    assert told("which-method.md", "the penalty may be strong")[2].endswith(f"Pass@16 {shown}")
    # GRPO has a k3, and RKL's k3 in the loss descends the forward KL.
    assert METHODS["DAPO"].penalty is None is not METHODS["GRPO"].penalty
    assert METHODS["RKL"].penalty.estimator == "k3"


def test_the_runs_that_dph_predict_shows_are_those_of_the_stored_record():
    shown = json.loads((ROOT / "dph_theory" / "predict" / "measured.json").read_text())["runs"]
    numbers = pretrained.numbers(Records())
    ends = pretrained.ends(numbers).set_index(["method", "kl", "coefficient"])
    courses = Records().results("pretrained")["advantages"]
    compared = 0
    for run in shown:
        key = run["method"], run["form"], run["strength"]
        if run["steps"] == 20 and key in ends.index:
            compared += 1
            end = ends.loc[key]
            for name, column in (("trained", "trained"), ("held_out", "held")):
                assert run[name]["end"] == pytest.approx([end[f"{column} {k}"] for k in (1, 256)], abs=1e-3)
        elif run["method"] == "MaxRL" and run["steps"] == 20:
            compared += 1
            seeds = [one for one in courses if (one["method"], one["kl"]) == key[:2]]
            assert len(seeds) == run["seeds"]
            for name in ("trained", "held_out"):
                means = np.mean([one[name][one["steps"].index(20)] for one in seeds], axis=0)
                assert run[name]["end"] == pytest.approx(means[[0, 2]], abs=1e-3)
    assert compared >= 17


def test_the_page_of_public_runs_has_the_numbers_of_the_stored_record():
    study, page = Records().results("real_runs"), (DOCS / "appendix" / "real-runs.md").read_text()
    plain = [group for group in study["groups"] if not group["replay"] and group["level"] == "level1"]
    one, solving = (sum(group[name] for group in plain) for name in ("one_left", "solving"))
    assert f"is left* in {one} of {solving} runs" in page
    for number, prediction in enumerate(study["predicted"], start=1):
        verdict = "matched" if prediction["held"] else "missed"
        assert f"| {number} | {verdict} | {prediction['found']} |" in page


@pytest.mark.slow
def test_the_worked_examples_work(tmp_path):
    root = worked.copy_of_the_project(tmp_path)
    assert worked.work_through(WORKED, root), "no command was tried"


@pytest.mark.parametrize("page", TOLD, ids=lambda page: page.stem)
def test_python_blocks_run_and_say_what_their_comments_say(page, capsys):
    names = {}
    for language, title, text in worked.BLOCK.findall(page.read_text()):
        if language == "python" and not title:
            exec(compile(text, page.name, "exec"), names)
    said = capsys.readouterr().out
    numbers = re.findall(r"#.*?\b(\d\.\d+)\.\.\.", page.read_text())
    for number in numbers:
        assert number in said, number


def test_some_python_block_says_a_number():
    assert any(re.search(r"#.*?\b\d\.\d+\.\.\.", page.read_text()) for page in TOLD)


@pytest.mark.slow
def test_the_console_blocks_of_the_tours_say_what_they_say(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    tried = []
    for page in TOLD[1:]:
        for language, title, text in worked.BLOCK.findall(page.read_text()):
            if title:
                (tmp_path / title).write_text(text)
            for command, expected in worked.commands(text) if language == "console" else ():
                # The demo is run by its own tests; whether it exists with these options is tested below.
                if not command.startswith("dph demo"):
                    worked.run(command, expected, tmp_path)
                    tried.append(command.split()[1])
    assert {"verify", "audit", "compare"} <= set(tried)


def commands(page):
    """Every `dph ...` in inline code and in the lines of fenced blocks, comments cut off."""
    text = page.read_text()
    inline = re.findall(r"`(dph [a-z][^`]*)`", FENCED.sub("", text))
    lines = re.findall(r"^(?:\$ )?(dph [a-z].*)$", "\n".join(FENCED.findall(text)), re.M)
    return [command.split("#")[0].split() for command in (*inline, *lines)]


@every_page
def test_every_command_exists_with_its_options(page):
    # The README's first commands are found; other pages may have none.
    assert page.name != "README.md" or len(commands(page)) > 5
    for _, name, *words in commands(page):
        found = dph_cli.main.get_command(click.Context(dph_cli.main), name)
        assert found is not None, name
        if isinstance(found, click.Group) and words and not words[0].startswith("-"):
            found = found.get_command(click.Context(found), words.pop(0))
            assert found is not None, (name, words)
        if words and not words[0].startswith("-"):
            found = getattr(found, "of_file", found)
        options = {option for parameter in found.params for option in parameter.opts}
        used = {word.split("=")[0] for word in words if word.startswith("-") and word != "-"}
        assert used <= options, (name, used - options)
        takes_arguments = any(isinstance(parameter, click.Argument) for parameter in found.params)
        assert words == [] or used or takes_arguments, (name, words)


def completions(words, at):
    asked = {"_DPH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    done = CliRunner().invoke(dph_cli.main, env=asked, prog_name="dph")
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


def test_the_shell_completes_commands_and_options():
    assert completions("dph ", 1) == set(dph_cli.COMMANDS)
    assert completions("dph ver", 1) == {"verify"}
    assert "--help" in completions("dph --", 1)
    assert "--quick" in completions("dph verify --", 2)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_given(shell):
    assert f"_DPH_COMPLETE={shell}_source dph" in WORKED.read_text()
    done = CliRunner().invoke(dph_cli.main, env={"_DPH_COMPLETE": f"{shell}_source"}, prog_name="dph")
    # Bash is asked for its version first, where there is one.
    assert f"_DPH_COMPLETE={shell}_complete" in done.output or shell == "bash", done.output


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is in the extra docs")
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        assert not re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"https?:", page.read_text())
    # What stands in no folder is made: theorems with their formulas, pictures, entries as links.
    assert (tmp_path / "theorems" / "kl_control.html").read_text().count("<math") >= 5
    assert 'href="theorems/kl_estimators.html"' in (tmp_path / "proved.html").read_text()
    assert (tmp_path / "img" / "tour-5.png").is_file()
    # The reference has what a package passes on, with its docstring.
    assert 'id="dph_theory.excess_kl"' in (tmp_path / "reference" / "theory.html").read_text()
    # What a site does not hold is named, and is no link to another page.
    assert "CITATION.cff</a>" not in (tmp_path / "index.html").read_text()
