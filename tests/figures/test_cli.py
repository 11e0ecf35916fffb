from pathlib import Path

from click.testing import CliRunner

from figures import files, records, reproduce
from figures.catalogue import NAMES, figure
from figures.cli import _writable, figures_command, reproduce_command
from figures.reproduce import StageEnd


def run(command, *words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_the_list_names_every_figure():
    result = run(figures_command, "--list")
    assert result.exit_code == 0
    lines = [line for line in result.output.splitlines() if line.startswith("│")]
    assert [line.split("│")[1].strip() for line in lines] == list(NAMES)


def test_figures_are_drawn_from_stored_numbers(tmp_path):
    records.save("mu_beta", figure("mu_beta").numbers(quick=True), tmp_path)
    words = ("mu_beta", "--numbers", tmp_path, "--folder", tmp_path / "out", "--format", "svg,png")
    result = run(figures_command, *words)
    assert result.exit_code == 0, result.output
    written = [tmp_path / "out" / f"mu_beta.{suffix}" for suffix in ("svg", "png", "caption.tex")]
    assert result.output.split() == list(map(str, written))
    assert set((tmp_path / "out").iterdir()) == set(written)


def test_a_paper_gets_its_sizes_tables_and_numbers(tmp_path):
    records.save("mu_beta", figure("mu_beta").numbers(quick=True), tmp_path)
    places = ("--numbers", tmp_path, "--folder", tmp_path / "out", "--tables", tmp_path / "tables")
    words = ("--venue", "icml", "--format", "svg", "--macros", tmp_path / "numbers.tex")
    result = run(figures_command, "mu_beta", *places, *words)
    assert result.exit_code == 0, result.output
    assert 'width="486pt"' in (tmp_path / "out" / "mu_beta.svg").read_text()
    assert (tmp_path / "out" / "mu_beta.caption.tex").read_text().startswith(r"\caption{\textbf{Each pass")
    assert (tmp_path / "tables" / "mu_beta.csv").read_text().startswith("random policies,least excess KL")
    assert r"\toprule" in (tmp_path / "tables" / "mu_beta.tex").read_text()
    first, second, *_ = (tmp_path / "numbers.tex").read_text().splitlines()
    assert first == "% dph figures mu_beta"
    assert second == r"\newcommand{\dphMuBetaRandomPolicies}{20}"


def test_numbers_that_are_not_there_are_told_and_the_others_drawn(tmp_path):
    records.save("mu_beta", figure("mu_beta").numbers(quick=True), tmp_path)
    names = ("tilted_to_filtered", "mu_beta")
    result = run(figures_command, *names, "--numbers", tmp_path, "--folder", tmp_path, "--format", "svg")
    assert result.exit_code == 1
    assert "--recompute makes them" in result.output
    assert (tmp_path / "mu_beta.svg").is_file()


def test_full_scale_records_are_read_from_the_folder_that_is_named(tmp_path):
    words = ("way_back", "--numbers", tmp_path, "--folder", tmp_path / "out", "--format", "svg")
    result = run(figures_command, *words)
    assert result.exit_code == 1
    assert "laws.json" in result.output
    (tmp_path / "laws.json").write_text("{")
    result = run(figures_command, *words)
    assert result.exit_code == 1
    assert "valid JSON" in result.output
    assert not (tmp_path / "out").exists()
    records.with_full_scale(["laws"], tmp_path / "new")
    assert (tmp_path / "new" / "laws.json").read_bytes() == (records.NUMBERS / "laws.json").read_bytes()


def test_recompute_makes_the_numbers(tmp_path, monkeypatch):
    def recompute(names, *, seed, folder, progress):
        for name in names:
            records.save(name, figure(name).numbers(seed=seed, quick=True), folder)
        progress("numbers", 1, 1)
        return {"strategies": "RuntimeError: no luck"}

    monkeypatch.setattr(files, "recompute", recompute)
    words = ("mu_beta", "--recompute", "--seed", 5, "--numbers", tmp_path, "--folder", tmp_path)
    result = run(figures_command, *words, "--format", "svg")
    assert result.exit_code == 1
    assert "strategies: RuntimeError: no luck" in result.output
    assert records.load("mu_beta", "figure.mu_beta", tmp_path)["seed"] == 5


def test_wrong_usage():
    unknown = run(figures_command, "mu_bet")
    assert unknown.exit_code == 2
    assert "one of laws, way_back, budget_and_family" in unknown.output
    assert run(figures_command, "--format", "gif").exit_code == 2
    assert run(figures_command, "--venue", "nature").exit_code == 2
    assert run(reproduce_command, "--folder", "/no/such/place").exit_code == 2


def reproduced(monkeypatch, *outcomes):
    """`dph reproduce` whose run ends so; returns what it was asked."""
    asked = []

    def fake(plan, *, fresh, watch):
        asked.append((plan, fresh))
        for outcome in outcomes:
            watch.started(outcome.stage)
            watch.progressed(outcome.stage, 1, 2)
            watch.ended(outcome)
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
    def interrupted(plan, *, fresh, watch):
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
