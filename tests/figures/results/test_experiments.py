from types import SimpleNamespace

import pytest

from dph_theory.support.record import record
from figures.results import experiments
from figures.results.experiments import experiment, kept_in, run, stored_name


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
            results = {"size": config.size}
            return record(name.replace("_lm", ""), seed=seed, config={}, results=results, findings=[])

        return SimpleNamespace(Config=Config, run=made)

    monkeypatch.setattr(experiments.importlib, "import_module", imported)
    return asked


def test_a_run_is_stored_and_read(packages, tmp_path):
    run("collapse", seed=5, folder=tmp_path)
    found = experiment("collapse", folder=tmp_path)
    assert (found["seed"], found["results"]) == (5, {"size": "full"})
    assert (tmp_path / "toy_collapse.json").is_file()


def test_quick_and_full_runs_are_kept_apart(packages, tmp_path):
    run("collapse", folder=tmp_path)
    run("collapse", folder=tmp_path, quick=True)
    assert experiment("collapse", True, tmp_path)["results"] == {"size": "quick"}
    assert experiment("collapse", False, tmp_path)["results"] == {"size": "full"}
    assert stored_name("collapse", True) != stored_name("collapse", False)


def test_a_new_run_is_what_is_read_next(packages, tmp_path):
    run("collapse", seed=1, folder=tmp_path)
    assert experiment("collapse", folder=tmp_path)["seed"] == 1
    run("collapse", seed=2, folder=tmp_path)
    assert experiment("collapse", folder=tmp_path)["seed"] == 2


def test_where_experiments_are_kept_can_be_said_for_a_while(packages, tmp_path):
    run("collapse", seed=9, folder=tmp_path)
    with kept_in(tmp_path):
        assert experiment("collapse")["seed"] == 9
        with kept_in(tmp_path / "elsewhere"), pytest.raises(ValueError, match="elsewhere"):
            experiment("collapse")
        assert experiment("collapse")["seed"] == 9


def test_only_what_can_resume_is_given_a_folder_for_it(packages, tmp_path):
    run("collapse", folder=tmp_path, resume=tmp_path / "runs")
    run("styles", folder=tmp_path, resume=tmp_path / "runs")
    run("styles", folder=tmp_path)
    assert packages == [{}, {"folder": tmp_path / "runs"}, {}]


def test_what_was_not_run_or_is_unknown_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"toy_styles\.json.*--recompute"):
        experiment("styles", folder=tmp_path)
    with pytest.raises(ValueError, match="one of collapse, strategies, styles"):
        run("alchemy", folder=tmp_path)


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_every_experiment_is_a_package_of_the_toy(name):
    import importlib

    package = importlib.import_module(f"toy_lm.{name}")
    assert package.Config.quick() != package.Config()
    assert callable(package.run)
    assert callable(package.tables)
