import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.rule_task import Rule, loaded, ruled_recipe, ruled_task
from support.tiny_llama import plain_log_probs, tiny_llama

from full_scale.models.generation import derived_seed, prompt_tokens, sample
from full_scale.models.load import ModelHashes, load
from full_scale.presampling.presample import presample
from full_scale.presampling.result import Presampling, prompt_hashes
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import ModelConfig, PresampleConfig
from full_scale.tasks.protocol import Score, VerifierError, source_of

EOS = 1


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("presample")


@pytest.fixture(scope="module")
def whole(place):
    """A recipe and its finished pre-sampling."""
    recipe = ruled_recipe(place)
    return recipe, presample(recipe, ruled_task(), loaded(recipe.model.path))


def elsewhere(recipe, folder, **changes):
    return replace(recipe, output=str(folder), **changes)


def stored(recipe):
    """The bytes of everything the stage wrote, apart from where it wrote it."""
    folder = Folders.of(recipe).presample
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    record = json.loads(files.pop("presample.json"))
    del record["config"]["output"]
    return files, record


def test_every_prompt_is_in_one_of_the_sets(whole):
    recipe, found = whole
    assert [*found.rates] == [example.id for example in ruled_task().train]
    assert sorted((*found.pef, *found.exp)) == sorted(found.rates)
    assert found.pef
    assert found.exp
    for name in found.pef:
        assert found.rates[name].correct >= recipe.presample.threshold
    assert found.rates["e7"].correct == 0
    assert found.rates["e0"].n == recipe.presample.k


def test_rates_are_those_of_the_rollouts(whole):
    recipe, found = whole
    initial = loaded(recipe.model.path)
    model, tokenizer = initial.model, initial.tokenizer
    task = ruled_task()
    examples = task.train[3:6]
    prompts = prompt_tokens(tokenizer, task, examples, ModelConfig())
    seeds = [derived_seed(recipe.seed, "presample", stage, 1) for stage in ("rollouts", "fresh")]
    groups = sample(model, tokenizer, prompts, 6, recipe.sampling, seeds[0])
    correct = [
        sum(Rule.score(example, completion.text).correct for completion in group)
        for example, group in zip(examples, groups, strict=True)
    ]
    assert [found.rates[example.id].correct for example in examples] == correct
    likely = [i for i in range(3) if correct[i] >= 4]
    fresh = sample(model, tokenizer, [prompts[i] for i in likely], 1, recipe.sampling, seeds[1])
    chosen = [
        examples[i].id
        for i, (completion,) in zip(likely, fresh, strict=True)
        if Rule.score(examples[i], completion.text).correct
    ]
    assert [name for name in found.pef if name in {example.id for example in examples}] == chosen


def test_the_buffer_holds_finished_correct_completions_with_their_log_probabilities(whole):
    recipe, found = whole
    initial = loaded(recipe.model.path)
    model, tokenizer = initial.model, initial.tokenizer
    examples = {example.id: example for example in ruled_task().train}
    rows = found.buffer.rows()
    assert rows
    assert {row.example_id for row in rows} <= set(found.pef)
    for row in rows:
        assert row.completion_ids[-1] == EOS
        assert Rule.score(
            examples[row.example_id], tokenizer.decode(row.completion_ids, skip_special_tokens=True)
        ).correct
        assert row.prompt_ids == tokenizer(examples[row.example_id].prompt)["input_ids"]
        model_at = torch.tensor([[*row.prompt_ids, *row.completion_ids]])
        with torch.no_grad():
            logits = model(model_at).logits[0, len(row.prompt_ids) - 1 : -1] / 0.9
        expected = logits.log_softmax(dim=-1)[torch.arange(len(row.completion_ids)), row.completion_ids]
        np.testing.assert_allclose(row.ref_logps, expected.numpy(), atol=2e-6)
        # A false neighbour: the log-probabilities of another temperature.
        with torch.no_grad():
            other = plain_log_probs(model, row.prompt_ids, row.completion_ids)
        assert not np.allclose(row.ref_logps, other.numpy(), atol=1e-4)
    most = max(sum(row.example_id == name for row in rows) for name in found.pef)
    assert most <= recipe.presample.buffer_per_prompt


def test_the_manifest_binds_the_buffer(whole):
    recipe, found = whole
    hashes = ModelHashes.of(recipe.model.path)
    found.buffer.check(**hashes.as_dict(), temperature=0.9, seed=5, dtype="float32", count=len(found.buffer))
    with pytest.raises(ValueError, match="temperature"):
        found.buffer.check(temperature=1.0)


@pytest.mark.parametrize("threshold", [2, 6])
def test_another_threshold_splits_the_rollouts_there_are_as_if_they_had_been_drawn_for_it(
    whole, tmp_path, threshold
):
    changed = replace(whole[0].presample, threshold=threshold)
    recipe, first = (
        elsewhere(whole[0], tmp_path / "a", presample=changed),
        elsewhere(whole[0], tmp_path / "b"),
    )
    initial = loaded(recipe.model.path)
    expected = presample(recipe, ruled_task(), initial)
    presample(first, ruled_task(), initial)
    journal = Folders.of(first).presample / "rollouts.jsonl"
    before = journal.read_bytes()
    found = presample(replace(first, presample=changed), ruled_task(), initial)
    assert journal.read_bytes() == before
    assert (found.rates, found.pef, found.exp) == (expected.rates, expected.pef, expected.exp)
    assert found.buffer.digest == expected.buffer.digest
    assert found.pef != whole[1].pef


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 6}, "seed=6"),
        ({"presample": PresampleConfig(k=5, threshold=4)}, "presample="),
        ({"other_model": True}, "model_hash="),
        ({"bounds": (1, 2, 3)}, "prompts="),
    ],
)
def test_another_configuration_is_refused_and_nothing_is_overwritten(whole, tmp_path, change, named):
    recipe = whole[0]
    before = stored(recipe)
    task = ruled_task(change.pop("bounds")) if "bounds" in change else ruled_task()
    if change.pop("other_model", False):
        shutil.rmtree(tmp_path)
        change = {"model": replace(recipe.model, path=str(tiny_llama(tmp_path, hidden=16, seed=1)))}
    other = replace(recipe, **change)
    with pytest.raises(ValueError, match=named):
        presample(other, task, loaded(other.model.path))
    assert stored(recipe) == before


class Bound(Rule):
    """A rule of which others decide the verdicts."""

    bound = dict.fromkeys(source_of(Rule.__module__), "x")


def other(part, **values):
    return lambda recipe, task: (replace(recipe, **{part: replace(getattr(recipe, part), **values)}), task)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (other("model", dtype="bfloat16"), "dtype='bfloat16'"),
        (other("model", chat=True), "chat=True"),
        (other("model", template={"think": False}), "template="),
        (other("sampling", top_k=5), r"sampling\.top_k=5"),
        (other("sampling", min_p=0.1), r"sampling\.min_p=0\.1"),
        (other("sampling", repetition_penalty=1.1), r"sampling\.repetition_penalty"),
        (other("sampling", max_new_tokens=9), r"sampling\.max_new_tokens=9"),
        (other("presample", threshold=3), r"presample\.threshold=3 .*has 4; .*run dph presample"),
        (lambda recipe, task: (recipe, replace(task, name="other")), "task='other'"),
        (
            lambda recipe, task: (recipe, ruled_task((16, 8, 14, 4, 16, 10, 12))),
            r"prompts=<1 changed \('e2'\), 1 gone \('e7'\)>",
        ),
        (
            lambda recipe, task: (recipe, replace(task, verifier=Bound())),
            r"verifier=<1 changed \('module .*'\)>.*put that back",
        ),
    ],
)
def test_a_training_on_anything_else_is_refused_by_name(whole, change, named):
    """With prompts of the same ids: they do not tell."""
    recipe, found = whole
    hashes = ModelHashes.of(recipe.model.path)
    moved = replace(recipe.sampling, batch_size=5, backend="vllm", vllm_memory=0.5)
    found.check(replace(recipe, seed=9, sampling=moved), ruled_task(), hashes)
    with pytest.raises(ValueError, match=named):
        found.check(*change(recipe, ruled_task()), hashes)


@pytest.mark.parametrize(
    ("bounds", "config", "empty"),
    [
        ((0, 1, 0), PresampleConfig(k=6, threshold=4), "pef"),
        ((100, 100), PresampleConfig(k=4, threshold=1, fresh=False), "exp"),
    ],
)
def test_one_of_the_sets_may_be_empty(whole, tmp_path, bounds, config, empty):
    recipe = elsewhere(whole[0], tmp_path, presample=config)
    found = presample(recipe, ruled_task(bounds), loaded(recipe.model.path))
    assert getattr(found, empty) == ()
    assert bool(len(found.buffer)) == (empty == "exp")
    assert any(f"D_{empty} is empty" in sentence for sentence in found.findings)


def test_a_first_pre_sampling_that_failed_does_not_hold_up_the_next(whole, tmp_path):
    recipe = elsewhere(whole[0], tmp_path)
    initial = loaded(recipe.model.path)

    class Broken(Rule):
        def __call__(self, examples, completions):
            raise ZeroDivisionError

    wrong = replace(recipe, sampling=replace(recipe.sampling, temperature=0.3))
    with pytest.raises(ZeroDivisionError):
        presample(wrong, replace(ruled_task(), verifier=Broken()), initial)
    presample(recipe, ruled_task(), initial)
    assert stored(recipe) == stored(whole[0])


def test_where_the_databases_lie_does_not_count_but_the_question_does():
    task = ruled_task()
    first = task.train[0]

    def hashed(**reference):
        return prompt_hashes([replace(first, reference={**first.reference, **reference})])

    assert hashed(database="/a/x.sqlite") == hashed(database="/b/x.sqlite") == prompt_hashes([first])
    assert hashed(bound=3) != prompt_hashes([first])


def failing(*, on):
    """The ruled task, whose verifier fails on the prompts of these ids."""

    class Failing(Rule):
        def __call__(self, examples, completions):
            return [
                Score(False, "crash", detail="KeyError: 'bound'") if e.id in on else self.score(e, text)
                for e, text in zip(examples, completions, strict=True)
            ]

    return replace(ruled_task(), verifier=Failing())


def test_a_verifier_that_fails_on_everything_is_no_bad_model(whole, tmp_path):
    recipe = elsewhere(whole[0], tmp_path)
    initial = loaded(recipe.model.path)
    task = failing(on={example.id for example in ruled_task().train})
    with pytest.raises(VerifierError, match="failed on every one of 18 answers: KeyError: 'bound'"):
        presample(recipe, task, initial)
    # What it judged, nothing, is not kept.
    presample(recipe, ruled_task(), initial)
    assert stored(recipe) == stored(whole[0])


def test_some_failures_of_the_verifier_are_told_first(whole, tmp_path):
    recipe = elsewhere(whole[0], tmp_path)
    found = presample(recipe, failing(on={"e1"}), loaded(recipe.model.path))
    assert found.findings[0] == (
        "the verifier failed on 6 of 48 rollouts, which count as wrong: KeyError: 'bound' (6 times)"
    )


@pytest.mark.parametrize("file", ["buffer/buffer.parquet", "buffer/manifest.json", "presample.json"])
@pytest.mark.parametrize("damage", ["gone", "flipped"])
def test_what_is_damaged_is_made_anew_from_the_rollouts(whole, tmp_path, file, damage, monkeypatch):
    recipe = elsewhere(whole[0], tmp_path)
    initial = loaded(recipe.model.path)
    presample(recipe, ruled_task(), initial)
    path = Folders.of(recipe).presample / file
    if damage == "gone":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 3 if path.suffix == ".parquet" else 0] ^= 1
        path.write_bytes(data)
    with pytest.raises(ValueError, match="presample"):
        Presampling.load(Folders.of(recipe).presample)
    monkeypatch.setattr("full_scale.presampling.presample.sample", None)
    presample(recipe, ruled_task(), initial)
    assert stored(recipe) == stored(whole[0])


class Endless(Rule):
    """Every answer is correct."""

    @staticmethod
    def score(example, text):
        return Score(True, "correct")


def test_rollouts_that_never_end_are_told_with_a_way_on(whole, tmp_path, monkeypatch):
    sampling = replace(whole[0].sampling, max_new_tokens=1)
    recipe = elsewhere(whole[0], tmp_path, sampling=sampling)
    initial = loaded(recipe.model.path)
    monkeypatch.setattr("full_scale.models.generation.stop_tokens", lambda model, tokenizer: [10**6])
    found = presample(recipe, replace(ruled_task(), verifier=Endless()), initial)
    assert found.pef
    assert len(found.buffer) == 0
    said = found.findings[-1]
    assert said.startswith("100.0% of the rollouts were cut off at sampling.max_new_tokens (one ended in '")
    assert "sampling.stop" in said


def test_a_token_named_as_a_stop_ends_the_rollouts(whole, tmp_path):
    recipe = elsewhere(whole[0], tmp_path, sampling=replace(whole[0].sampling, stop=("w2", "w3")))
    initial = load(recipe.model, stop=recipe.sampling.stop)
    ends = [initial.tokenizer.convert_tokens_to_ids(word) for word in ("w2", "w3")]
    found = presample(recipe, ruled_task(), initial)
    rows = [row.completion_ids for row in found.buffer.rows()]
    assert {row[-1] for row in rows} & set(ends)
    assert not any(token in (EOS, *ends) for row in rows for token in row[:-1])
    with pytest.raises(ValueError, match=r"stop_tokens=\[1\]"):
        found.check(whole[0], ruled_task(), initial.hashes)
    with pytest.raises(ValueError, match=r"sampling\.stop='w2 w3'.*one token; here it is \['w2', 'w3'\]"):
        load(recipe.model, stop=("w2 w3",))
