from dataclasses import replace

import pytest
import torch
from support.tiny_styles_base import SETTINGS, TINY

from dph_theory.losses import METHODS
from toy_lm.styles import Config, run, tables
from toy_lm.styles.experiment import TrainingJob, run_one
from toy_lm.styles.train import TRAINABLE, Variant

FREE, HELD = (
    TrainingJob(variant, seed=0, updates=8, every=4, settings=SETTINGS)
    for variant in (Variant("DAPO"), Variant("DPH-F", strength=0.3))
)


def test_a_run_measures_its_curve_and_its_ends():
    threads = torch.get_num_threads()
    free, held = map(run_one, (FREE, HELD))
    found = held["run"]
    assert found["curve"]["update"] == [0, 4, 8]
    assert all(len(values) == 3 for values in found["curve"].values())
    assert found["curve"]["excess"][0] == 0 < found["curve"]["excess"][-1]
    assert found["coefficient"] == found["strength"] == 0.3
    assert held["base"] == free["base"]
    assert found["train"] != free["run"]["train"]
    assert "strength" not in free["run"]
    # At the base the guarantee is met with equality.
    assert found["guarantee_margin"] == pytest.approx(0, abs=1e-13)
    assert found["guarantee"] < found["rehearsed_pass"]
    assert torch.get_num_threads() == threads


def test_the_full_experiment_trains_every_method_on_three_bases_and_quick_is_a_part_of_it():
    jobs, quick = Config().jobs(5), Config.quick().jobs(0)
    main = jobs["main"]
    assert {job.variant.name for job in main} == set(TRAINABLE) > set(METHODS)
    assert {job.seed for job in main} == {5, 6, 7}
    assert len(main) == len(set(main)) == 3 * 10
    assert {job.seed for name in ("strengths", "places", "long") for job in jobs[name]} == {5}
    assert {job.variant.strength for job in jobs["strengths"]} == {0.03, 0.1, 0.3, 1.0}
    assert {job.variant.place for job in jobs["places"]} == {"rehearsed", "all"}
    assert len(quick["main"]) == 2
    assert not quick["strengths"] + quick["places"] + quick["long"]


def test_a_run_is_a_record_that_says_what_was_computed_and_is_taken_up_from_its_folder(tmp_path):
    made = run(TINY, seed=0, folder=tmp_path)
    assert made["config"]["settings"]["width"] == 16
    labels = {run["label"]: run["groups"] for run in made["results"]["runs"] if run["updates"] == 8}
    assert labels == {
        "DAPO": ["main"],
        "DPH-F 0.3": ["main", "strengths"],
        "DPH-F 0.03": ["strengths", "places"],
        "DPH-F 0.03 all": ["places"],
    }
    assert [run["label"] for run in made["results"]["runs"] if run["groups"] == ["long"]] == ["DPH-F 0.3"]
    assert len(tables(made)) == 4
    told = []
    again = run(TINY, seed=0, folder=tmp_path, progress=lambda *step: told.append(step))
    assert again == made
    assert told == [("trainings", 5, 5)]


@pytest.mark.slow
def test_without_an_anchor_styles_collapse_and_rehearsal_keeps_more_of_them():
    config = replace(Config.quick(), methods=("GRPO", "DAPO", "DPH-F"), updates=240, every=240, seeds=3)
    results = run(config, seed=0)["results"]
    sixteenth = results["k"].index(16)
    for base in results["bases"]:
        ends = {run["name"]: run["train"] for run in results["runs"] if run["seed"] == base["seed"]}
        ends["base"] = base["train"]
        at_16 = {name: end["pass_at_k"][sixteenth] for name, end in ends.items()}
        entropy = {name: end["style_entropy"] for name, end in ends.items()}
        assert entropy["DAPO"] < entropy["GRPO"] < 0.8 * entropy["base"]
        assert entropy["DPH-F"] > entropy["GRPO"] + 0.2
        assert at_16["DAPO"] < at_16["GRPO"] < at_16["base"] - 0.03
        assert at_16["DPH-F"] > at_16["GRPO"] + 0.03
        assert min(end["pass_at_k"][0] for end in ends.values()) == base["train"]["pass_at_k"][0]
