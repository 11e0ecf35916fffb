import json
from dataclasses import replace

import numpy as np
import pytest
from support.rule_task import Rule, loaded, ruled_recipe, ruled_task
from support.tiny_llama import plain_log_probs, tiny_llama

from dph_theory.support.errors import RefusedError
from dph_theory.support.record import as_json, checked
from full_scale.evaluation.evaluate import EvaluatedModel, evaluate, evaluation_sets
from full_scale.evaluation.evaluated_run import KIND
from full_scale.models.generation import prompt_tokens, sample
from full_scale.presampling.buffer import RehearsalRow
from full_scale.presampling.presample import presample
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import EvaluateConfig, ModelConfig, SamplingConfig


def sequence_log_prob(model, prompt, completion):
    return plain_log_probs(model, prompt, completion, temperature=0.9).double().sum().item()


class Bench:
    """A recipe, its task, a pre-sampling, and a "trained" model that is another random one."""

    def __init__(self, folder):
        self.recipe, self.task = ruled_recipe(folder), ruled_task()
        self.initial = loaded(self.recipe.model.path)
        self.presampling = presample(self.recipe, self.task, self.initial)
        tiny_llama(Folders.of_recipe(self.recipe).model, hidden=16, scale=2.0, seed=1)
        self.trained = loaded(Folders.of_recipe(self.recipe).model)
        self.base, self.run = as_json(self.evaluate(base=True)), as_json(self.evaluate())

    def evaluate(self, *, base=False, **changes):
        recipe = replace(self.recipe, **changes)
        folders, model = Folders.of_recipe(recipe), self.trained
        if base:
            folders, model = folders.base(), self.initial
        shared = {"initial": self.initial, "presampling": self.presampling}
        return evaluate(recipe, self.task, model, folders=folders, **shared)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("evaluate"))


@pytest.fixture
def answers(bench):
    return EvaluatedModel(bench.recipe, bench.task, bench.trained, bench.initial)


def test_what_is_stored_of_each_prompt(answers):
    examples = answers.task.train[:3]
    found = answers.prompt_answers(examples, seed=11)
    sampling = answers.recipe.sampling
    prompts = prompt_tokens(answers.initial.tokenizer, answers.task, examples, ModelConfig())
    drawn = sample(answers.loaded.model, answers.initial.tokenizer, prompts, 4, sampling, 11)
    greedy = sample(answers.loaded.model, answers.initial.tokenizer, prompts, 1, sampling, 11, greedy=True)
    for i, (example, entry) in enumerate(zip(examples, found, strict=True)):
        scores = [Rule.score(example, completion.text) for completion in drawn[i]]
        assert entry.id == example.id
        assert entry.greedy == Rule.score(example, greedy[i][0].text).correct
        assert entry.correct == tuple(score.correct for score in scores)
        assert entry.styles == tuple(score.style for score in scores)
        assert sum(entry.outcomes.values()) == 4
        assert entry.unfinished == sum(not completion.finished for completion in drawn[i])
        for name, model in (("log_pi", answers.loaded.model), ("log_ref", answers.initial.model)):
            expected = [sequence_log_prob(model, prompts[i], c.token_ids) for c in drawn[i]]
            np.testing.assert_allclose(getattr(entry, name), expected, atol=1e-5)


def test_rehearsed_rows_under_the_model(answers):
    prompt, completion = [3, 4], [12, 13, 1]
    ref = [-1.0, -2.0, -0.5]
    (found,) = answers.rehearsed([RehearsalRow("e0", prompt, completion, ref)])
    assert found.id == "e0"
    assert found.log_ref == -3.5
    expected = sequence_log_prob(answers.loaded.model, prompt, completion)
    assert found.log_pi == pytest.approx(expected, abs=1e-5)
    # The forward KL's -log u sums to the sequence's; the others' sums are not functions of the total.
    assert found.token_sums["forward_kl"] == pytest.approx(found.log_ref - found.log_pi)
    assert found.token_sums["jensen_shannon"] >= 0
    assert set(found.token_sums) == {"forward_kl", "jensen_shannon", "alpha_0.5"}


def test_prompts_of_one_text_are_one_question_and_have_mean_verdicts(answers):
    one = answers.task.train[0]
    other = next(e for e in answers.task.train if e.reference != one.reference)
    pair = [one, replace(other, prompt=one.prompt)]
    several = replace(answers, together={one.prompt: pair})
    found = several.prompt_answers([*pair, answers.task.train[2]], seed=11)
    prompts = prompt_tokens(answers.initial.tokenizer, answers.task, pair, ModelConfig())
    drawn = sample(answers.loaded.model, answers.initial.tokenizer, prompts, 4, answers.recipe.sampling, 11)
    for entry, group in zip(found[:2], drawn, strict=True):
        means = [np.mean([Rule.score(e, c.text).correct for e in pair]) for c in group]
        assert list(entry.mean_correct) == means
    assert found[2].mean_correct is None
    assert found[0].question == found[1].question != found[2].question


def test_the_record_is_what_readers_expect(bench):
    run, found = bench.run, checked(json.loads(Folders.of_recipe(bench.recipe).evaluation.read_text()), KIND)
    assert found["results"] == run
    assert len(found["findings"]) == 3
    assert (found["seed"], found["config"]["method"]["name"]) == (5, "GRPO")
    assert (run["run"], run["model"]["hash"]) == ("run-seed5", bench.trained.hashes.model)
    asked = {"in_domain": ["o0", "o1", "o2"], "rehearsed": [*bench.presampling.pef]}
    asked |= {"explored": [*bench.presampling.exp]}
    assert {name: [p["id"] for p in entry["prompts"]] for name, entry in run["sets"].items()} == asked
    for entry in run["sets"].values():
        assert list(entry["summary"]["pass_at_k"]) == ["1", "2", "4"]
        assert set(entry["summary"]["retention"]) == {"greedy", "samples"}


def test_the_base_is_its_own_reference_and_the_run_is_not(bench):
    for entry in bench.base["sets"].values():
        assert all(p["log_pi"] == p["log_ref"] for p in entry["prompts"])
        assert "retention" not in entry["summary"]
    sets = bench.run["sets"].values()
    ratios = [np.subtract(p["log_pi"], p["log_ref"]) for entry in sets for p in entry["prompts"]]
    # Samples of pi: the mean of log pi/ref estimates KL(pi || ref), which is positive.
    assert np.mean(ratios) > 0.1
    rows = bench.presampling.buffer.rows()
    found, base = (run["rehearsed"] for run in (bench.run, bench.base))
    assert [row["id"] for row in found] == [row.example_id for row in rows]
    ref = pytest.approx([sum(row.ref_logps) for row in rows], abs=1e-5)
    assert [row["log_ref"] for row in found] == [row["log_pi"] for row in base] == ref
    assert [row["log_pi"] for row in found] != ref


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"evaluate": EvaluateConfig(samples=8, k=(1,))}, "samples=8"),
        ({"evaluate": EvaluateConfig(samples=4, k=(1,), sets=("in_domain",))}, "sets="),
        ({"output": "nowhere"}, "run dph evaluate --base"),
        # Beside a base of other samples nothing can be compared, also under another name.
        ({"evaluate": EvaluateConfig(samples=8, k=(1,)), "name": "new"}, "evaluate.samples=8 .*: 4, as for"),
        (
            {"sampling": SamplingConfig(temperature=0.5, max_new_tokens=12), "name": "new"},
            "sampling.temperature=0.5 .*base",
        ),
    ],
)
def test_another_evaluation_in_the_same_place_and_a_runs_without_the_bases_are_refused(bench, change, named):
    before = Folders.of_recipe(bench.recipe).evaluation.read_bytes()
    with pytest.raises((ValueError, RefusedError), match=named):
        bench.evaluate(**change)
    assert Folders.of_recipe(bench.recipe).evaluation.read_bytes() == before


def test_other_k_need_no_new_samples(bench):
    path = Folders.of_recipe(bench.recipe).evaluation
    before = path.read_bytes()
    found = bench.evaluate(evaluate=EvaluateConfig(samples=4, k=(3,))).sets["in_domain"]
    assert list(found.summary.pass_at_k) == ["3"]
    assert as_json(found.prompts) == bench.run["sets"]["in_domain"]["prompts"]
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
    with pytest.raises(RefusedError, match=r"'nobody'.*run dph presample"):
        evaluation_sets(bench.recipe, bench.task, stranger)
