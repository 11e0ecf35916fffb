"""README and docs: links resolve, generated pages are up to date, blocks run, commands exist, sites build."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import support.worked_examples as worked

import dph_cli
from figures.report import guide

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
WORKED = sorted((DOCS / "extending").glob("*.md"))
TOURS = [ROOT / "README.md", *sorted((DOCS / "tours").glob("*.md"))]
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


def test_what_the_reference_names_exists():
    named = [
        m
        for page in (DOCS / "reference").glob("*.md")
        for m in re.findall(r"^::: (\S+)", page.read_text(), re.M)
    ]
    assert "dph_theory.dynamics" in named
    for module_name in named:
        importlib.import_module(module_name)


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
        assert path.read_text() == text, f"{path.name} is old: run python docs/generate.py"


def test_what_was_found_is_told_and_the_readme_stays_short():
    assert guide.in_short(guide.stored_records()) in (DOCS / "findings.md").read_text()
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 100
    assert (ROOT / "figures" / "report" / "templates" / "lead.html").read_text() in readme


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    missing = [str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if str(p.relative_to(DOCS)) not in nav]
    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("page", WORKED, ids=lambda page: page.stem)
def test_a_worked_example_works(page, tmp_path):
    root = worked.copy_of_the_project(tmp_path)
    assert worked.work_through(page, root), "no command was tried"


@pytest.mark.parametrize("page", TOURS, ids=lambda page: page.stem)
def test_python_blocks_run_and_say_what_their_comments_say(page, capsys):
    names = {}
    for language, title, text in worked.BLOCK.findall(page.read_text()):
        if language == "python" and not title:
            exec(compile(text, page.name, "exec"), names)
    said = capsys.readouterr().out
    numbers = re.findall(r"#.*?\b(\d\.\d+)\.\.\.", page.read_text())
    assert numbers or page.name != "README.md"
    for number in numbers:
        assert number in said, number


@pytest.mark.slow
def test_the_console_blocks_of_the_tours_say_what_they_say(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    tried = []
    for page in TOURS[1:]:
        for language, title, text in worked.BLOCK.findall(page.read_text()):
            if title:
                (tmp_path / title).write_text(text)
            for command, expected in worked.commands(text) if language == "console" else ():
                # The demo is run by its own tests; whether it exists with these options is tested below.
                if not command.startswith("dph demo"):
                    worked.run(command, expected, tmp_path)
                    tried.append(command.split()[1])
    assert {"verify", "audit", "confront"} <= set(tried)


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
        if isinstance(found, click.Group) and words:
            found = found.get_command(click.Context(found), words.pop(0))
            assert found is not None, (name, words)
        if words and not words[0].startswith("-"):
            found = getattr(found, "of_file", found)
        options = {option for parameter in found.params for option in parameter.opts}
        used = {word.split("=")[0] for word in words if word.startswith("-")}
        assert used <= options, (name, used - options)
        takes_arguments = any(isinstance(parameter, click.Argument) for parameter in found.params)
        assert words == [] or used or takes_arguments, (name, words)


def completions(words, at):
    environment = {**os.environ, "_DPH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    dph = Path(sys.executable).with_name("dph")
    done = subprocess.run([dph], env=environment, capture_output=True, text=True, check=True)
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


def test_the_shell_completes_commands_and_options():
    assert completions("dph ", 1) == set(dph_cli.COMMANDS)
    assert completions("dph ver", 1) == {"verify"}
    assert "--help" in completions("dph --", 1)
    assert "--quick" in completions("dph verify --", 2)


def test_completing_a_command_imports_none():
    found = dph_cli.main.shell_complete(click.Context(dph_cli.main), "aud")
    code = (
        "import click, dph_cli, sys; dph_cli.main.shell_complete(click.Context(dph_cli.main), '');"
        "print([name for name in ('numpy', 'torch', 'full_scale.cli') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ([item.value for item in found], done.stdout) == (["audit"], "[]\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_given(shell):
    assert f"_DPH_COMPLETE={shell}_source dph" in (DOCS / "installation.md").read_text()
    dph = Path(sys.executable).with_name("dph")
    environment = {**os.environ, "_DPH_COMPLETE": f"{shell}_source"}
    done = subprocess.run([dph], env=environment, capture_output=True, text=True, check=False)
    # Bash is asked for its version first, where there is one.
    assert f"_DPH_COMPLETE={shell}_complete" in done.stdout or shell == "bash", done.stderr


def test_formulas_become_mathml_that_needs_no_network():
    hook = module(DOCS / "formulas.py")
    for page in (DOCS / "theorems").glob("[a-z]0*.md"):
        text = hook.on_page_markdown(page.read_text())
        assert "$$" not in text
        assert text.count("<math") == page.read_text().count("\n$$\n") // 2 > 0


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is in the extra docs")
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        assert not re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"https?:", page.read_text())
