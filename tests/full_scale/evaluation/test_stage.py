import json
from dataclasses import replace

import numpy as np
import pytest
from support.rule_task import loaded, ruled_recipe, ruled_task
from support.tiny_llama import tiny_llama

from dph_theory import pass_at_k
from dph_theory.support.frozen import as_json
from dph_theory.support.record import checked
from full_scale.evaluation.record import KIND
from full_scale.evaluation.stage import evaluate, evaluation_sets
from full_scale.models.hashes import model_hash
from full_scale.presampling.stage import presample
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import EvaluateConfig
from full_scale.storage.processes import Processes


class Bench:
    """A recipe, its task, a pre-sampling, and a "trained" model that is another random one."""

    def __init__(self, folder):
        self.recipe, self.task = ruled_recipe(folder), ruled_task()
        self.initial = loaded(self.recipe.model.path)
        self.presampling = presample(self.recipe, self.task, self.initial)
        tiny_llama(Folders.of(self.recipe).model, hidden=16, scale=2.0, seed=1)

    def evaluate(self, *, base=False, recipe=None, **more):
        recipe = recipe or self.recipe
        folders = Folders.of(recipe)
        model = self.initial if base else loaded(Folders.of(self.recipe).model)
        shared = {"initial": self.initial, "presampling": self.presampling, **more}
        folders = folders.base() if base else folders
        return evaluate(recipe, self.task, model, folders=folders, **shared)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("evaluate"))


@pytest.fixture(scope="module")
def base(bench):
    return as_json(bench.evaluate(base=True))


@pytest.fixture(scope="module")
def run(bench, base):
    return as_json(bench.evaluate())


def test_the_record_is_what_readers_expect(bench, run):
    path = Folders.of(bench.recipe).evaluation
    found = checked(json.loads(path.read_text()), KIND)
    assert found["results"] == run
    assert found["seed"] == 5
    assert found["config"]["method"]["name"] == "GRPO"
    assert run["run"] == "run-seed5"
    assert run["model"]["hash"] == model_hash(Folders.of(bench.recipe).model)
    assert list(run["sets"]) == ["in_domain", "rehearsed", "explored"]
    assert [p["id"] for p in run["sets"]["rehearsed"]["prompts"]] == list(bench.presampling.pef)
    assert [p["id"] for p in run["sets"]["explored"]["prompts"]] == list(bench.presampling.exp)
    for entry in run["sets"].values():
        for prompt in entry["prompts"]:
            assert {len(prompt[key]) for key in ("correct", "log_pi", "log_ref", "styles")} == {4}


def test_the_base_is_its_own_reference_and_the_run_is_not(base, run):
    for entry in base["sets"].values():
        assert all(p["log_pi"] == p["log_ref"] for p in entry["prompts"])
        assert "retention" not in entry["summary"]
    ratios = [np.subtract(p["log_pi"], p["log_ref"]) for e in run["sets"].values() for p in e["prompts"]]
    # Samples of pi: the mean of log pi/ref estimates KL(pi || ref), which is positive.
    assert np.mean(ratios) > 0.1


def test_the_summary_is_of_the_prompts(run):
    for entry in run["sets"].values():
        correct = np.array([sum(p["correct"]) for p in entry["prompts"]])
        for k in (1, 2, 4):
            value = entry["summary"]["pass_at_k"][str(k)]["value"]
            assert value == pytest.approx(pass_at_k(4, correct, k).mean())
        assert set(entry["summary"]["retention"]) == {"greedy", "samples"}


def test_rows_of_the_buffer(bench, base, run):
    rows = bench.presampling.buffer.rows()
    assert [row["id"] for row in run["rehearsed"]["rows"]] == [row.example_id for row in rows]
    for row in base["rehearsed"]["rows"]:
        assert row["log_pi"] == pytest.approx(row["log_ref"], abs=1e-5)
    assert [row["log_ref"] for row in run["rehearsed"]["rows"]] == pytest.approx(
        [sum(row.ref_logps) for row in rows], abs=1e-5
    )
    assert not np.allclose(*([row[key] for row in run["rehearsed"]["rows"]] for key in ("log_ref", "log_pi")))


class StopError(Exception):
    pass


def test_stopped_and_resumed_it_is_the_same(bench, run):
    folders = Folders.of(bench.recipe)
    journal = folders.here / "evaluation.jsonl"
    whole, record = journal.read_bytes(), folders.evaluation.read_bytes()
    total = 3 + 8

    def stop(stage, done, of):
        assert (stage, of) == ("evaluate", total)
        if done > total / 2:
            raise StopError

    journal.unlink()
    with pytest.raises(StopError):
        bench.evaluate(progress=stop)
    assert folders.evaluation.read_bytes() == record
    journal.write_bytes(journal.read_bytes()[:-7])
    bench.evaluate()
    assert journal.read_bytes() == whole
    assert folders.evaluation.read_bytes() == record


class Alone(Processes):
    """A process of several that come one after the other: nobody waits."""

    def wait(self):
        pass


def test_processes_that_share_the_prompts_find_what_one_finds(bench, run):
    folders = Folders.of(bench.recipe)
    record = folders.evaluation.read_bytes()
    for path in (folders.here / "evaluation.jsonl", folders.evaluation):
        path.unlink()
    with pytest.raises(ValueError, match="dph evaluate"):
        bench.evaluate(processes=Alone(1, 2))
    bench.evaluate(processes=Alone(0, 2))
    assert folders.evaluation.read_bytes() == record
    assert (folders.here / "evaluation-1.jsonl").is_file()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"evaluate": EvaluateConfig(samples=8, k=(1,))}, "samples=8"),
        ({"evaluate": EvaluateConfig(samples=4, k=(1,), sets=("in_domain",))}, "sets="),
    ],
)
def test_another_evaluation_in_the_same_place_is_refused(bench, run, change, named):
    before = Folders.of(bench.recipe).evaluation.read_bytes()
    with pytest.raises(ValueError, match=named):
        bench.evaluate(recipe=replace(bench.recipe, **change))
    assert Folders.of(bench.recipe).evaluation.read_bytes() == before


def test_other_k_need_no_new_samples(bench, run):
    told = []
    path = Folders.of(bench.recipe).evaluation
    before = path.read_bytes()
    recipe = replace(bench.recipe, evaluate=EvaluateConfig(samples=4, k=(3,)))
    found = bench.evaluate(recipe=recipe, progress=lambda *args: told.append(args))
    assert list(found.sets["in_domain"].summary.pass_at_k) == ["3"]
    assert as_json(found.sets["in_domain"].prompts) == run["sets"]["in_domain"]["prompts"]
    path.write_bytes(before)


def test_sets(bench):
    def sets(**settings):
        recipe = replace(bench.recipe, evaluate=EvaluateConfig(samples=4, k=(1,), **settings))
        return {n: len(e) for n, e in evaluation_sets(recipe, bench.task, bench.presampling).items()}

    pef, exp = len(bench.presampling.pef), len(bench.presampling.exp)
    assert sets() == {"in_domain": 3, "rehearsed": pef, "explored": exp}
    assert sets(limit=2) == {"in_domain": 2, "rehearsed": min(pef, 2), "explored": 2}
    assert sets(sets=("explored",)) == {"explored": exp}
    with pytest.raises(ValueError, match=r"evaluate\.sets='elsewhere'"):
        sets(sets=("elsewhere",))
    empty = replace(bench.presampling, pef=())
    assert "rehearsed" not in evaluation_sets(bench.recipe, bench.task, empty)
    stranger = replace(bench.presampling, pef=("nobody",))
    with pytest.raises(ValueError, match=r"'nobody'.*pre-sample again"):
        evaluation_sets(bench.recipe, bench.task, stranger)


def test_a_run_needs_the_bases_evaluation_first(bench, tmp_path):
    recipe = replace(bench.recipe, output=str(tmp_path))
    with pytest.raises(ValueError, match="dph evaluate --base writes it"):
        bench.evaluate(recipe=recipe)


def test_findings_say_the_numbers(bench, run):
    said = json.loads(Folders.of(bench.recipe).evaluation.read_text())["findings"]
    assert len(said) == 3
    greedy = run["sets"]["in_domain"]["summary"]["greedy"]["value"]
    assert said[0].startswith(f"run-seed5 on in_domain (3 prompts): greedy {greedy:.3f} (se ")
    assert "Pass@4" in said[0]
