from pathlib import Path

from click.testing import CliRunner

from figures import reproduce
from figures.catalogue import NAMES
from figures.cli import _writable, figures_command, reproduce_command
from figures.reproduce import StageEnd


def run(command, *words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_the_list_names_every_figure():
    result = run(figures_command, "--list")
    assert result.exit_code == 0
    lines = [line for line in result.output.splitlines() if line.startswith("│")]
    assert [line.split("│")[1].strip() for line in lines] == list(NAMES)


def test_figures_are_drawn_from_stored_records_at_a_papers_width(tmp_path):
    places = ("--folder", tmp_path / "out", "--tables", tmp_path, "--macros", tmp_path / "numbers.tex")
    words = ("--venue", "icml", "--width", "column", "--title", "none", "--format", "svg,png")
    result = run(figures_command, "luck_or_time", *places, *words)
    assert result.exit_code == 0, result.output
    written = [tmp_path / "out" / f"luck_or_time.{kind}" for kind in ("svg", "png", "caption.tex")]
    assert result.output.split()[:3] == list(map(str, written))
    assert 'width="234pt"' in written[0].read_text()
    assert r"\toprule" in (tmp_path / "luck_or_time.tex").read_text()
    assert (tmp_path / "numbers.tex").read_text().splitlines()[1].startswith(r"\newcommand{\luckOrTimeHeld}{")


def test_a_folder_of_numbers_is_read_and_nothing_else(tmp_path):
    """A broken or missing record is an error; the committed one is not drawn in its place."""
    (tmp_path / "laws.json").write_text("{")
    words = ("--numbers", tmp_path, "--folder", tmp_path / "out", "--format", "svg")
    result = run(figures_command, "laws", "styles", "mu_beta", *words)
    assert result.exit_code == 1
    assert "valid JSON" in result.output
    assert "dph reproduce makes those of dph toy" in result.output
    assert [path.name for path in (tmp_path / "out").glob("*.svg")] == ["mu_beta.svg"]


def test_wrong_usage():
    unknown = run(figures_command, "mu_bet")
    assert unknown.exit_code == 2
    assert "one of pretrained, laws, way_back" in unknown.output
    assert run(figures_command, "--format", "gif").exit_code == 2
    assert run(figures_command, "--venue", "nature").exit_code == 2
    assert run(reproduce_command, "--folder", "/no/such/place").exit_code == 2


def reproduced(monkeypatch, *outcomes):
    """`dph reproduce` whose run ends so; returns what it was asked."""
    asked = []

    def fake(plan, *, fresh, progress, ended):
        asked.append((plan, fresh))
        for outcome in outcomes:
            progress(outcome.stage, 1, 2)
            ended(outcome)
        return list(outcomes)

    monkeypatch.setattr(reproduce, "reproduce", fake)
    return asked


def test_reproduce_says_how_each_stage_ended(tmp_path, monkeypatch):
    asked = reproduced(monkeypatch, StageEnd("verify", "done", 12.0, "all [well]"))
    result = run(reproduce_command, "--quick", "--seed", 7, "--fresh", "--folder", tmp_path / "report")
    assert result.exit_code == 0, result.output
    assert "verify" in result.output
    assert "12.0 s  all [well]" in result.output
    assert "1 stages in 0 s, none failed" in result.output
    assert asked == [(reproduce.Plan(7, True, tmp_path / "report"), True)]


def test_reproduce_names_what_failed(tmp_path, monkeypatch):
    done, failed = StageEnd("audit", "reused", 1.0, "well"), StageEnd("verify", "failed", 2.0, "one too many")
    reproduced(monkeypatch, done, failed)
    result = run(reproduce_command, "--folder", tmp_path / "report")
    assert result.exit_code == 1
    assert "1 failed: verify" in result.output


def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(plan, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "reproduce", interrupted)
    result = run(reproduce_command, "--folder", tmp_path / "report")
    assert result.exit_code == 130
    assert "the same command goes on" in result.output


def test_an_installed_package_writes_where_the_command_is_run(tmp_path):
    installed = tmp_path / "site-packages" / "figures" / "out"
    assert _writable(installed) == Path("out")
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    assert _writable(installed) == installed
