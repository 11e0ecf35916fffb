from types import SimpleNamespace

import pytest

from dph_theory.support.record import record
from figures.results import experiments
from figures.results.experiments import run
from figures.results.records import Records, stored_name


@pytest.fixture
def packages(monkeypatch):
    """Toy packages that note what they are asked for."""
    asked = []

    def imported(name):
        class Config:
            size = "full"

            @classmethod
            def quick(cls):
                return SimpleNamespace(size="quick")

        def made(config, *, seed, progress, **options):
            asked.append(options)
            results = {"size": config.size, "third": 1 / 3}
            return record(f"toy.{name}", seed=seed, config={}, results=results, findings=[])

        return SimpleNamespace(Config=Config, run=made)

    monkeypatch.setattr(experiments, "experiment", imported)
    return asked


def test_a_run_is_stored_and_read(packages, tmp_path):
    run("collapse", seed=5, folder=tmp_path)
    found = Records.load(["collapse"], folder=tmp_path).of("collapse")
    assert (found["seed"], found["results"]) == (5, {"size": "full", "third": 0.3333333333})
    assert (tmp_path / "toy_collapse.json").is_file()


def test_quick_and_full_runs_are_kept_apart(packages, tmp_path):
    run("collapse", folder=tmp_path)
    run("collapse", folder=tmp_path, quick=True)
    for quick, size in ((True, "quick"), (False, "full")):
        assert (
            Records.load(["collapse"], quick=quick, folder=tmp_path).of("collapse")["results"]["size"] == size
        )
    assert stored_name("collapse", True) != stored_name("collapse", False)


def test_a_new_run_is_what_is_read_next(packages, tmp_path):
    run("collapse", seed=1, folder=tmp_path)
    assert Records.load(["collapse"], folder=tmp_path).of("collapse")["seed"] == 1
    run("collapse", seed=2, folder=tmp_path)
    assert Records.load(["collapse"], folder=tmp_path).of("collapse")["seed"] == 2


def test_only_what_can_resume_is_given_a_folder_for_it(packages, tmp_path):
    run("collapse", folder=tmp_path, resume=tmp_path / "runs")
    run("styles", folder=tmp_path, resume=tmp_path / "runs")
    run("styles", folder=tmp_path)
    assert packages == [{}, {"folder": tmp_path / "runs"}, {}]


def test_what_was_not_run_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"toy_styles\.json.*--recompute"):
        Records.load(["styles"], folder=tmp_path)
