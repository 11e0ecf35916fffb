"""What every experiment keeps to: a run is a record, stopped it goes on, and what is not allowed is named."""

import importlib
import json
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest
import torch
from support.shown_text import assert_shown_alike
from support.tiny_styles_base import SETTINGS

from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, checked, from_json, record
from toy_lm import collapse, from_regex, strategies, styles
from toy_lm.collapse.problem import with_random_bases
from toy_lm.experiments import NAMES, ToyExperiment

RHYMES = from_regex("aaa|aba|bab|bbb", "ab")
COLLAPSE = dict.fromkeys(("strengths", "alphas", "random_alphas"), (0.5,))
COLLAPSE |= dict.fromkeys(("starts", "stages", "random_starts", "rounds"), 1)
COLLAPSE |= {"targets": (0.9,), "random_targets": (0.999,), "ascent_steps": 16, "cases": 2}
STYLES = {"methods": ("DAPO", "DPH-F"), "strengths": (0.3,), "workers": 1}
STYLES |= {"seeds": 1, "updates": 8, "every": 4, "settings": SETTINGS}
CONFIGS = {
    "collapse": collapse.CollapseConfig(**COLLAPSE),
    "strategies": replace(strategies.StrategiesConfig.quick(), steps=2, random_tasks=4),
    "styles": styles.StylesConfig(**STYLES),
}
STAGES = {
    "collapse": {"families fitted": 6},
    "strategies": {"methods": 9, "sweep": 9, "random tasks": 1},
    "styles": {"trainings": 3},
}
NUMBERS = Path(__file__).parents[2] / "figures/numbers"
each = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module", autouse=True)
def _short_words():
    """In place of words of eight and six letters, words of three."""

    def rhymes(cases=1, rng=0):
        return with_random_bases("rhymes", RHYMES, 3, cases, rng)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("reference", "random_brackets", "random_counts"):
            patch.setattr(f"toy_lm.collapse.experiment.{name}", rhymes)
        yield


def run(name, folder=None, **options):
    given = {"folder": folder} if ToyExperiment(name).is_resumable else {}
    return ToyExperiment(name).run(CONFIGS[name], **given, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def made(folder):
    """An experiment's run, and what it told of its stages."""

    @cache
    def of(name):
        told = {}
        return run(name, folder, progress=lambda stage, *step: told.setdefault(stage, []).append(step)), told

    return of


@each
def test_a_run_is_a_record_that_says_what_was_computed_and_is_read_back_as_it_was(name, made, tmp_path):
    threads = torch.get_num_threads()
    found, told = made(name)
    assert told == {s: [(done, total) for done in range(total + 1)] for s, total in STAGES[name].items()}
    assert torch.get_num_threads() == threads
    write_json(tmp_path / "record.json", found)
    read = checked(json.loads((tmp_path / "record.json").read_text()), f"toy.{name}")
    assert (read["seed"], read["findings"]) == (0, found["findings"])
    assert read["config"].items() >= as_json(CONFIGS[name]).items()
    assert ToyExperiment(name).tables(read) == ToyExperiment(name).tables(found)


@pytest.mark.parametrize("name", ["strategies", "styles"])
def test_a_run_repeats_and_the_resumable_one_makes_only_what_its_folder_lacks(name, made, folder):
    found, told = made(name)[0], []
    if ToyExperiment(name).is_resumable:
        (journal,) = folder.iterdir()
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    assert run(name, folder, progress=lambda stage, *step: told.append(step)) == found
    assert told[0][0] == (2 if ToyExperiment(name).is_resumable else 0)


@each
def test_an_experiment_reads_its_own_records_only(name):
    other = record("toy.another", seed=0, config={}, results={}, findings=())
    with pytest.raises(ValueError, match=rf"record.kind='toy.another'.*only 'toy.{name}'"):
        ToyExperiment(name).tables(other)


@each
def test_the_quick_run_is_a_part_of_the_full_one(name):
    configuration = ToyExperiment(name).configuration
    quick, full = (asdict(make()) for make in (configuration.quick, configuration))
    assert quick != full
    for field, value in quick.items():
        if isinstance(value, tuple | list):
            assert set(value) <= set(full[field]), field
        elif isinstance(value, int):
            assert value <= full[field] or field == "every"
        else:
            assert value == full[field]


def test_of_random_bases_the_collapse_experiment_says_how_often_they_collapse(made):
    found = made("collapse")[0]
    *_, last = found["results"]["random"]
    *_, said = found["findings"]
    assert said.startswith("rhymes (4 of 8 words correct), optima that collapse onto one answer, of 2 bases")
    rates = last["rates"]
    optima = [r for r in rates if r["method"] in ("global", "closed form") or r["objective"] == "reward"]
    counts = {name: [] for name in ("mu = 0.999", "forward KL", "alpha = 0.5", "E[v]")}
    for rate, name in zip(optima, [*counts] * 2, strict=True):
        counts[name].append(f"{rate['collapsed']}")
    told = "; ".join(f"{name}: {' and '.join(found)}" for name, found in counts.items())
    assert said.endswith(f", homogeneous and inhomogeneous: {told}.")


@each
def test_the_sentences_that_are_stored_are_those_of_the_numbers_that_are_stored(name):
    kept = json.loads((NUMBERS / f"toy_{name}.json").read_text())
    made = importlib.import_module(f"toy_lm.{name}.results")
    config = [from_json(made.StrategiesConfig, kept["config"])] if name == "strategies" else []
    assert_shown_alike("\n".join(made.findings(*config, kept["results"])), "\n".join(kept["findings"]))


def test_trainings_of_styles_say_what_they_are_and_measure_their_curve_and_their_end(made):
    results = made("styles")[0]["results"]
    runs = {(run["label"], run["updates"]): run for run in results["runs"]}
    assert {name: run["groups"] for name, run in runs.items()} == {
        ("DAPO", 8): ["main"],
        ("DPH-F 0.3", 8): ["main", "places"],
        ("DPH-F 0.3 all", 8): ["places"],
    }
    free, held = runs["DAPO", 8], runs["DPH-F 0.3", 8]
    assert held["curve"]["update"] == [0, 4, 8]
    assert {len(values) for values in held["curve"].values()} == {3}
    assert held["curve"]["excess"][0] == 0 < held["curve"]["excess"][-1]
    assert held["coefficient"] == held["strength"] == 0.3
    assert "strength" not in free
    assert results["bases"][0]["train"] != free["train"] != held["train"]
    # At the base the guarantee is met with equality.
    assert held["guarantee_margin"] == pytest.approx(0, abs=1e-13)
    assert held["guarantee"] < held["rehearsed_pass"]


def test_the_full_styles_run_trains_every_method_on_three_bases_and_sweeps_on_the_first():
    jobs = styles.StylesConfig().jobs(5)
    main = jobs["main"]
    assert {job.seed for job in main} == {5, 6, 7}
    assert len(main) == len(set(main)) == 3 * 10
    assert {job.seed for job in jobs["places"]} == {5}
    assert {job.variant.strength for job in jobs["places"]} == {0.03, 0.3}
    assert {job.variant.place for job in jobs["places"]} == {"rehearsed", "all"}


@pytest.mark.parametrize(("name", "changed", "message"), [
    ("collapse", {"starts": 0}, "starts=0"), ("collapse", {"rounds": 0}, "rounds=0"),
    ("collapse", {"strengths": (1.0, -1.0)}, "strengths=-1"), ("collapse", {"alphas": (1.0,)}, "alphas=1"),
    ("collapse", {"targets": (0.0,)}, "targets=0"),
    ("collapse", {"random_alphas": (float("nan"),)}, "random_alphas=nan"),
    ("collapse", {"random_targets": (0.3,)}, "random_targets=0.3"),
    ("strategies", {"prompts": (15, 10, 0, 7, 6, 5)}, "prompts=0"),
    ("strategies", {"prompts": (15, 10)}, r"weights.shape=\(2,\)"),
    ("strategies", {"base": (0.5, 0.5, 0.5, 0.1, 0.1)}, "base sums to"),
    ("strategies", {"base": (0.5, 0.5, 0.0, 0.0, 0.0)}, "every strategy needs some mass"),
    ("strategies", {"easy_rate": 1.0}, "easy_rate=1"), ("strategies", {"hard_rate": 0.0}, "hard_rate=0"),
    ("strategies", {"group": 1}, "group=1 "), ("strategies", {"learning_rate": -0.5}, "learning_rate=-0.5"),
    ("strategies", {"conditioning": 0.2}, r"conditioning=0.2.*one of the sweep's values \(0.0, 0.03"),
    ("strategies", {"conditioning": -1.0}, "conditioning=-1"),
    ("strategies", {"strength": 0.3}, "strength=0.3.*one of the sweep's values"),
    ("strategies", {"alpha": 0.4}, "alpha=0.4.*one of the sweep's values"),
    ("strategies", {"strengths": (1.0, 20.0)}, "strengths=20.0.*below 12"),
    ("strategies", {"draws": ()}, "draws=.*at least 1 item"),
    ("strategies", {"coverage_draws": 0}, "coverage_draws=0"), ("strategies", {"rises": (0.0,)}, "rises=0"),
    ("strategies", {"fall": 1.0}, "fall=1"), ("strategies", {"random_tasks": 1}, "random_tasks=1"),
    ("styles", {"methods": ("PPO",)}, "method='PPO' is not allowed: one of GRPO"),
    ("styles", {"updates": 6}, "updates=6 is not allowed: whole rounds of 4"),
    ("styles", {"mus": (1.0,)}, "mus=1"),
])  # fmt: skip
def test_a_setting_that_is_not_allowed_is_named(name, changed, message):
    with pytest.raises(ValueError, match=message):
        ToyExperiment(name).configuration(**changed)


@each
def test_another_seed_than_a_whole_number_is_refused(name):
    with pytest.raises(ValueError, match="seed=-1"):
        run(name, seed=-1)


def test_an_unknown_experiment_is_told_the_others():
    with pytest.raises(ValueError, match="one of collapse, strategies, styles"):
        ToyExperiment("filtering")
