import json
from dataclasses import replace

import pytest
import torch
from support.tiny_styles_base import SETTINGS

from dph_theory.losses import METHODS
from dph_theory.support.files import write_json
from toy_lm.styles import Config, experiment, read, run, tables
from toy_lm.styles.experiment import TrainingJob, run_all, run_one
from toy_lm.styles.train import TRAINABLE, Variant

JOBS = [
    TrainingJob(variant, seed=0, updates=8, every=4, settings=SETTINGS)
    for variant in (Variant("DAPO"), Variant("DPH-F", strength=0.3))
]


def quietly(jobs, folder, workers=1):
    return run_all(jobs, workers=workers, folder=folder, done=lambda job: None)


def results(records):
    return [record["results"] for record in records.values()]


@pytest.fixture(scope="module")
def without_folder():
    return quietly(JOBS, None)


def test_a_run_measures_its_curve_and_its_ends(without_folder):
    run = without_folder[JOBS[1]]["results"]
    assert run["curve"]["update"] == [0, 4, 8]
    assert all(len(values) == 3 for values in run["curve"].values())
    assert run["curve"]["excess"][0] == 0 < run["curve"]["excess"][-1]
    assert run["coefficient"] == 0.3
    assert set(run["end"]) == set(run["base"]) == {"train", "held_out"}
    assert run["base"] == without_folder[JOBS[0]]["results"]["base"]
    assert run["end"] != without_folder[JOBS[0]]["results"]["end"]


def test_what_is_finished_is_read_and_only_the_rest_is_made(tmp_path, monkeypatch, without_folder):
    made = []

    def counted(job):
        made.append(job)
        return run_one(job)

    monkeypatch.setattr(experiment, "run_one", counted)
    quietly(JOBS[:1], tmp_path)
    resumed = quietly(JOBS, tmp_path)
    again = quietly(JOBS, tmp_path)
    assert made == JOBS
    assert results(resumed) == results(again) == results(without_folder)


def test_an_interrupted_run_leaves_the_finished_ones(tmp_path, monkeypatch, without_folder):
    def dies(job):
        if job == JOBS[1]:
            raise KeyboardInterrupt
        return run_one(job)

    with monkeypatch.context() as patched:
        patched.setattr(experiment, "run_one", dies)
        with pytest.raises(KeyboardInterrupt):
            quietly(JOBS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [JOBS[0].name]
    assert results(quietly(JOBS, tmp_path)) == results(without_folder)


def test_another_configuration_is_an_error_that_says_what_differs(tmp_path, monkeypatch):
    quietly(JOBS[:1], tmp_path)
    before = (tmp_path / JOBS[0].name).read_bytes()
    other = replace(JOBS[0], settings=replace(SETTINGS, rate=1e-3))
    with pytest.raises(ValueError, match=r"config\.settings\.rate is 0\.0005 there and 0\.001 here"):
        quietly([other], tmp_path)
    assert (tmp_path / JOBS[0].name).read_bytes() == before


def test_another_version_is_an_error(tmp_path):
    quietly(JOBS[:1], tmp_path)
    path = tmp_path / JOBS[0].name
    stored = json.loads(path.read_text())
    stored["versions"]["torch"] = "0.4"
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=r"versions\.torch is '0\.4' there"):
        quietly(JOBS[:1], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"), [("{", "must be JSON"), ("[]", "record="), ('{"kind": 1}', "record=")]
)
def test_a_broken_file_is_named_not_overwritten(tmp_path, text, message):
    path = tmp_path / JOBS[0].name
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        quietly(JOBS[:1], tmp_path)
    assert path.read_text() == text


def test_threads_are_as_before():
    before = torch.get_num_threads()
    run_one(replace(JOBS[0], updates=0))
    assert torch.get_num_threads() == before


def test_names_of_files_are_unique_and_plain():
    jobs = [
        *JOBS,
        replace(JOBS[0], seed=1),
        replace(JOBS[0], updates=16),
        replace(JOBS[0], variant=Variant("KL control", mu=0.5)),
    ]
    names = [job.name for job in jobs]
    assert len(set(names)) == len(jobs)
    assert not any(set(name) & set(' /\\:"') for name in names)


@pytest.mark.slow
def test_processes_do_not_change_the_numbers(without_folder):
    assert results(quietly(JOBS, None, workers=2)) == results(without_folder)


TINY = Config(
    methods=("DAPO", "DPH-F"),
    seeds=1,
    updates=8,
    every=4,
    strengths=(0.03,),
    place_strengths=(0.03,),
    long_methods=("DPH-F",),
    long_updates=12,
    workers=1,
    settings=SETTINGS,
)


def test_the_full_experiment_trains_every_method_on_three_bases():
    jobs = Config().jobs(5)
    main = jobs["main"]
    assert {job.variant.name for job in main} == set(TRAINABLE) > set(METHODS)
    assert {job.seed for job in main} == {5, 6, 7}
    assert len(main) == len(set(main)) == 3 * 10
    assert {job.seed for name in ("strengths", "places", "long") for job in jobs[name]} == {5}
    assert {job.variant.strength for job in jobs["strengths"]} == {0.03, 0.1, 0.3, 1.0}
    assert {job.variant.place for job in jobs["places"]} == {"rehearsed", "all"}


def test_quick_is_a_part_of_it():
    jobs = Config.quick().jobs(0)
    assert len(jobs["main"]) == 2
    assert not jobs["strengths"] + jobs["places"] + jobs["long"]


def test_a_run_is_a_record_that_says_what_was_computed(tmp_path):
    seen = []
    made = run(TINY, seed=0, progress=lambda *step: seen.append(step), folder=tmp_path)
    assert [done for _, done, _ in seen] == [1, 2, 3, 4, 5]
    assert {total for *_, total in seen} == {5} == {len(list(tmp_path.iterdir()))}
    assert made["kind"] == "toy.styles"
    assert made["config"]["settings"]["width"] == 16
    labels = {run["label"]: run["groups"] for run in made["results"]["runs"] if run["updates"] == 8}
    assert labels == {
        "DAPO": ["main"],
        "DPH-F 0.3": ["main", "strengths"],
        "DPH-F 0.03": ["strengths", "places"],
        "DPH-F 0.03 all": ["places"],
    }
    assert len(tables(made)) == 4
    assert [run.label for run in read(made).of_group("long")] == ["DPH-F 0.3"]
    write_json(tmp_path / "record.json", made)
    assert json.loads((tmp_path / "record.json").read_text())["findings"] == made["findings"]
    # Read back from the folder, the same record.
    again = run(TINY, seed=0, folder=tmp_path)
    assert again["results"] == made["results"]


def test_a_changed_configuration_does_not_take_up_old_runs(tmp_path):
    small = replace(TINY, methods=("DAPO",), strengths=(), place_strengths=(), long_methods=())
    run(small, folder=tmp_path)
    with pytest.raises(ValueError, match=r"config\.every is 4 there and 8 here"):
        run(replace(small, every=8), folder=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ("PPO",)}, "methods='PPO' is not allowed: some of GRPO, DAPO, RKL"),
        ({"methods": ()}, r"methods=\(\) is not allowed: at least one"),
        ({"long_methods": ("SFT",)}, "long_methods='SFT'"),
        ({"seeds": 0}, "seeds=0"),
        ({"workers": 0}, "workers=0"),
        ({"updates": 6}, "updates=6 is not allowed: whole rounds of 4"),
        ({"every": 3}, "every=3"),
        ({"strength": 0.0}, "strength=0"),
        ({"strengths": (0.1, -1.0)}, "strengths=-1"),
        ({"mus": (0.5, 1.0)}, "mus=1"),
        ({"alpha": -0.5}, "alpha=-0.5"),
    ],
)
def test_bad_configurations_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Config(**arguments)


def test_a_bad_seed_is_named():
    with pytest.raises(ValueError, match="seed=-1"):
        run(TINY, seed=-1)


@pytest.mark.slow
def test_without_an_anchor_styles_collapse_and_rehearsal_keeps_more_of_them():
    config = replace(Config.quick(), methods=("GRPO", "DAPO", "DPH-F"), updates=240, every=240, seeds=3)
    results = read(run(config, seed=0))
    for seed, base in enumerate(results.bases):
        ends = {run.name: run.train for run in results.runs if run.seed == seed}
        at_16 = {name: results.pass_at(end, 16) for name, end in (ends | {"base": base.train}).items()}
        entropy = {name: end.style_entropy for name, end in (ends | {"base": base.train}).items()}
        assert entropy["DAPO"] < entropy["GRPO"] < 0.8 * entropy["base"]
        assert entropy["DPH-F"] > entropy["GRPO"] + 0.2
        assert at_16["DAPO"] < at_16["GRPO"] < at_16["base"] - 0.03
        assert at_16["DPH-F"] > at_16["GRPO"] + 0.03
        assert min(end.pass_at_k[0] for end in ends.values()) > base.train.pass_at_k[0]
