import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.rule_task import Rule, loaded, ruled_recipe, ruled_task
from support.tiny_llama import plain_log_probs

from dph_theory.support.errors import RefusedError
from dph_theory.transfer import AnswerKernel
from full_scale.models.generation import derived_seed, prompt_tokens, sample
from full_scale.models.load import ModelHashes, load
from full_scale.presampling.buffer import RehearsalRow, packed, table_of, unpacked
from full_scale.presampling.presample import presample
from full_scale.presampling.result import Presampling, prompt_hashes
from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import ModelConfig, PresampleConfig
from full_scale.tasks.protocol import Score, VerifierError, source_of
from full_scale.transfer.measure import measure_sampled

EOS = 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A recipe, its initial model, and its finished pre-sampling."""
    recipe = ruled_recipe(tmp_path_factory.mktemp("presample"))
    initial = loaded(recipe.model.path)
    return recipe, initial, presample(recipe, ruled_task(), initial)


def elsewhere(recipe, folder, **changes):
    return replace(recipe, output=str(folder), **changes)


def copied(recipe, folder):
    """The recipe in a folder that holds what its finished pre-sampling left."""
    shutil.copytree(Folders.of_recipe(recipe).presample, folder / "presample")
    return elsewhere(recipe, folder)


def stored(recipe):
    """The bytes of everything the stage wrote, apart from where it wrote it."""
    folder = Folders.of_recipe(recipe).presample
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    record = json.loads(files.pop("presample.json"))
    del record["config"]["output"]
    return files, record


def test_rates_and_sets_are_those_of_the_rollouts(whole):
    recipe, initial, found = whole
    task = ruled_task()
    assert [*found.rates] == [example.id for example in task.train]
    assert sorted((*found.pef, *found.exp)) == sorted(found.rates)
    chosen, cut_off = [], []
    for batch, examples in enumerate((task.train[:3], task.train[3:6], task.train[6:])):
        prompts = prompt_tokens(initial.tokenizer, task, examples, ModelConfig())
        seeds = [derived_seed(recipe.seed, "presample", stage, batch) for stage in ("rollouts", "fresh")]
        groups = sample(initial.model, initial.tokenizer, prompts, 6, recipe.sampling, seeds[0])
        verdicts = [
            [Rule.score(example, completion.text).correct for completion in group]
            for example, group in zip(examples, groups, strict=True)
        ]
        assert [found.rates[example.id][:2] for example in examples] == [(sum(v), 6) for v in verdicts]
        likely = [i for i, correct in enumerate(verdicts) if sum(correct) >= 4]
        again = [prompts[i] for i in likely]
        fresh = sample(initial.model, initial.tokenizer, again, 1, recipe.sampling, seeds[1])
        for i, (completion,) in zip(likely, fresh, strict=True):
            chosen += [examples[i].id] * Rule.score(examples[i], completion.text).correct
        cut_off += [c.text for group in groups for c in group if not c.finished]
    assert list(found.pef) == chosen
    assert found.unfinished == len(cut_off)
    assert cut_off[0].endswith(found.cut_off)


def test_the_buffer_holds_finished_correct_completions_with_their_log_probabilities(whole):
    recipe, initial, found = whole
    model, tokenizer = initial.model, initial.tokenizer
    examples = {example.id: example for example in ruled_task().train}
    rows = found.buffer.rows()
    assert rows
    assert {row.example_id for row in rows} <= set(found.pef)
    for row in rows:
        assert row.completion_ids[-1] == EOS
        text = tokenizer.decode(row.completion_ids, skip_special_tokens=True)
        assert Rule.score(examples[row.example_id], text).correct
        assert row.prompt_ids == tokenizer(examples[row.example_id].prompt)["input_ids"]
        # A false neighbour: the log-probabilities of another temperature.
        at, other = (plain_log_probs(model, *row[1:3], t).detach().numpy() for t in (0.9, 1.0))
        np.testing.assert_allclose(row.ref_logps, at, atol=2e-6)
        assert not np.allclose(row.ref_logps, other, atol=1e-4)
    most = max(sum(row.example_id == name for row in rows) for name in found.pef)
    assert most <= recipe.presample.buffer_per_prompt
    hashes = ModelHashes.of_model(recipe.model.path).as_dict()
    found.buffer.check(**hashes, temperature=0.9, seed=5, dtype="float32", count=len(rows))


def test_another_threshold_splits_the_rollouts_there_are_as_if_they_had_been_drawn_for_it(whole, tmp_path):
    recipe, initial, first = whole
    lower = replace(recipe.presample, threshold=2)
    again = replace(copied(recipe, tmp_path / "again"), presample=lower)
    anew = elsewhere(recipe, tmp_path / "anew", presample=lower)
    found, expected = (presample(each, ruled_task(), initial) for each in (again, anew))
    rollouts = [Folders.of_recipe(each).presample / "rollouts.jsonl" for each in (recipe, again)]
    assert rollouts[0].read_bytes() == rollouts[1].read_bytes()
    assert (found.rates, found.pef, found.exp) == (expected.rates, expected.pef, expected.exp)
    assert found.buffer.digest == expected.buffer.digest
    assert set(found.pef) > set(first.pef)


def test_another_configuration_is_refused_and_nothing_is_overwritten(whole):
    recipe, initial, _ = whole
    before = stored(recipe)
    with pytest.raises(ValueError, match="seed=6"):
        presample(replace(recipe, seed=6), ruled_task(), initial)
    assert stored(recipe) == before


class Bound(Rule):
    """A rule of which others decide the verdicts."""

    bound = dict.fromkeys(source_of(Rule.__module__), "x")


@pytest.mark.parametrize(
    ("part", "values", "named"),
    [
        ("model", {"dtype": "bfloat16"}, "dtype='bfloat16'"),
        ("model", {"chat": True}, "chat=True"),
        ("model", {"template": {"think": False}}, "template="),
        ("sampling", {"repetition_penalty": 1.1}, r"sampling\.repetition_penalty"),
        ("presample", {"threshold": 3}, r"presample\.threshold=3 .*has 4; .*run dph presample"),
        ("task", {"name": "other"}, "task='other'"),
        ("task", {"train": ruled_task((16, 8, 14, 4, 16, 10, 12)).train},
         r"prompts=<1 changed \('e2'\), 1 gone \('e7'\)>"),
        ("task", {"verifier": Bound()}, r"verifier=<1 changed \('module .*'\)>.*restore the old state"),
    ],
)  # fmt: skip
def test_a_training_on_anything_else_is_refused_by_name(whole, part, values, named):
    """With prompts of the same ids: they do not tell."""
    recipe, initial, found = whole
    moved = replace(recipe.sampling, batch_size=5, backend="vllm", vllm_memory=0.5)
    found.check(replace(recipe, seed=9, sampling=moved), ruled_task(), initial.hashes)
    task = ruled_task()
    if part == "task":
        task = replace(task, **values)
    else:
        recipe = replace(recipe, **{part: replace(getattr(recipe, part), **values)})
    with pytest.raises(ValueError, match=named):
        found.check(recipe, task, initial.hashes)


@pytest.mark.parametrize(
    ("bounds", "config", "empty"),
    [
        ((0, 1, 0), PresampleConfig(k=6, threshold=4), "pef"),
        ((100, 100), PresampleConfig(k=4, threshold=1, fresh=False), "exp"),
    ],
)
def test_one_of_the_sets_may_be_empty(whole, tmp_path, bounds, config, empty):
    recipe = elsewhere(whole[0], tmp_path, presample=config)
    found = presample(recipe, ruled_task(bounds), whole[1])
    assert getattr(found, empty) == ()
    assert bool(len(found.buffer)) == (empty == "exp")
    says = {"pef": "no solved prompts", "exp": "no unsolved prompts"}[empty]
    assert any(sentence.startswith(says) for sentence in found.findings)


def test_where_the_databases_lie_does_not_count_but_the_question_does():
    first = ruled_task().train[0]

    def hashed(**reference):
        return prompt_hashes([replace(first, reference={**first.reference, **reference})])

    assert hashed(database="/a/x.sqlite") == hashed(database="/b/x.sqlite") == prompt_hashes([first])
    assert hashed(bound=3) != prompt_hashes([first])


class Failing(Rule):
    """Fails on the prompts of some ids, in its own words or by an error that nobody caught."""

    def __init__(self, *ids, error=None):
        self.ids, self.error = ids, error

    def __call__(self, examples, completions):
        if self.error is not None:
            raise self.error
        failed = Score(False, "crash", detail="KeyError: 'bound'")
        scores = super().__call__(examples, completions)
        return [failed if e.id in self.ids else score for e, score in zip(examples, scores, strict=True)]


def test_first_pre_samplings_that_failed_do_not_hold_up_the_next(whole, tmp_path):
    """A verifier that fails on everything is no bad model; what it judged, nothing, is not kept."""
    recipe, initial = elsewhere(whole[0], tmp_path), whole[1]
    broken = replace(ruled_task(), verifier=Failing(error=ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        presample(replace(recipe, sampling=replace(recipe.sampling, temperature=0.3)), broken, initial)
    failing = replace(ruled_task(), verifier=Failing(*whole[2].rates))
    with pytest.raises(VerifierError, match="failed on every one of 18 answers: KeyError: 'bound'"):
        presample(recipe, failing, initial)
    presample(recipe, ruled_task(), initial)
    assert stored(recipe) == stored(whole[0])


def test_some_failures_of_the_verifier_are_told_first(whole, tmp_path):
    task = replace(ruled_task((16, 8)), verifier=Failing("e1"))
    found = presample(elsewhere(whole[0], tmp_path), task, whole[1])
    assert found.findings[0] == (
        "the verifier failed on 6 of 12 rollouts, which count as incorrect: KeyError: 'bound' (6 times)"
    )


@pytest.mark.parametrize("file", ["buffer/buffer.arrow", "buffer/manifest.json", "presample.json"])
@pytest.mark.parametrize("damage", ["gone", "flipped"])
def test_what_is_damaged_is_made_anew_from_the_rollouts(whole, tmp_path, file, damage, monkeypatch):
    recipe = copied(whole[0], tmp_path)
    path = Folders.of_recipe(recipe).presample / file
    if damage == "gone":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 3 if path.suffix == ".arrow" else 0] ^= 1
        path.write_bytes(data)
    with pytest.raises((ValueError, RefusedError), match="presample"):
        Presampling.load(Folders.of_recipe(recipe).presample)
    monkeypatch.setattr("full_scale.sampling.answers.sample", None)
    presample(recipe, ruled_task(), whole[1])
    assert stored(recipe) == stored(whole[0])


def test_a_token_named_as_a_stop_ends_the_rollouts(whole, tmp_path):
    recipe = elsewhere(whole[0], tmp_path, sampling=replace(whole[0].sampling, stop=("w2", "w3")))
    initial = load(recipe.model, stop=recipe.sampling.stop)
    ends = [initial.tokenizer.convert_tokens_to_ids(word) for word in ("w2", "w3")]
    found = presample(recipe, ruled_task((16, 16, 16)), initial)
    rows = [row.completion_ids for row in found.buffer.rows()]
    assert {row[-1] for row in rows} & set(ends)
    assert not any(token in (EOS, *ends) for row in rows for token in row[:-1])
    with pytest.raises(ValueError, match=r"stop_tokens=\[1\]"):
        found.check(whole[0], ruled_task(), initial.hashes)
    with pytest.raises(ValueError, match=r"sampling\.stop='w2 w3'.*one token; here it is \['w2', 'w3'\]"):
        load(recipe.model, stop=("w2 w3",))


def anchored(recipe, folder, **chosen):
    return elsewhere(recipe, folder, presample=replace(recipe.presample, **chosen))


def test_anchors_are_rehearsed_by_answers_right_and_wrong_and_not_explored(whole, tmp_path):
    recipe, initial, _ = whole
    of = anchored(recipe, tmp_path, anchors=3)
    found = presample(of, ruled_task(), initial)
    assert len(found.pef) == 3
    assert sorted((*found.pef, *found.exp)) == sorted(found.rates)
    rows = found.buffer.rows()
    assert [row.example_id for row in rows] == [name for name in found.pef for _ in range(3)]
    asked = {example.id: example for example in ruled_task().train}
    answers = [
        (asked[row.example_id], initial.tokenizer.decode(row.completion_ids, skip_special_tokens=True))
        for row in rows
    ]
    assert {Rule.score(*answer).correct for answer in answers} == {True, False}
    expected = plain_log_probs(initial.model, rows[0].prompt_ids, rows[0].completion_ids, 0.9).detach()
    np.testing.assert_allclose(rows[0].ref_logps, expected, atol=1e-5)
    assert "3 prompts are anchored to the base, chosen at random, and 9 rows" in " ".join(found.findings)
    assert presample(of, ruled_task(), initial).pef == found.pef


def kernel_file(path, names, model, sets=None):
    """A kernel in which the third and the first prompt stand for all others."""
    direction = np.eye(2)[[i % 2 for i in range(len(names))]] * np.linspace(1, 2, len(names))[:, None]
    score = np.repeat(direction, 2, axis=0) * np.tile([0.5, -0.5], len(names))[:, None]
    prompt, correct = np.repeat(np.arange(len(names)), 2), np.tile([True, False], len(names))
    log_p = np.log(np.full(len(prompt), 0.5))
    about = {"model": model.as_dict()}
    sets = sets or ("train",) * len(names)
    AnswerKernel(tuple(names), sets, prompt, log_p, correct, score, about).save(path)
    return str(path)


def test_anchors_by_the_kernel_are_those_that_explain_the_most_of_it(whole, tmp_path):
    recipe, initial, _ = whole
    names = [example.id for example in ruled_task().train]
    file = kernel_file(tmp_path / "k.npz", names[:6], initial.hashes)
    found = presample(anchored(recipe, tmp_path / "runs", anchors=2, kernel=file), ruled_task(), initial)
    assert len({names.index(name) % 2 for name in found.pef}) == 2
    assert set(found.pef) < set(names[:6])


@pytest.mark.parametrize("ids", ["train/{}", "{}", "train/train/{}"])
def test_a_kernel_that_the_transfer_command_measures_names_prompts_as_the_task_does(whole, tmp_path, ids):
    recipe, initial, _ = whole
    task = ruled_task()
    train = [replace(example, id=ids.format(i)) for i, example in enumerate(task.train)]
    other = [replace(example, id=f"{i}") for i, example in enumerate(task.evaluation["in_domain"])]
    task = replace(task, train=train, evaluation={"in_domain": other})
    kernel = measure_sampled(recipe, task, tmp_path / "k.npz", samples=8, own=2)
    assert kernel.places("train") == {example.id: i for i, example in enumerate(train)}
    of = anchored(recipe, tmp_path / "runs", anchors=2, kernel=str(tmp_path / "k.npz"))
    assert set(presample(of, task, initial).pef) < {example.id for example in train}


@pytest.mark.parametrize(
    ("anchors", "held", "match"),
    [
        (8, None, "presample.anchors=8 is not allowed: fewer than the 8 prompts"),
        (2, ("o0", "o1"), "one with at least 2 of the training prompts; it has 0"),
        (2, "another model", "a kernel of this run's model"),
    ],
)
def test_anchors_that_cannot_be_chosen_are_refused(whole, tmp_path, anchors, held, match):
    recipe, initial, _ = whole
    file = None
    if held:
        another = held == "another model"
        hashes = ModelHashes("0", "0") if another else initial.hashes
        file = kernel_file(tmp_path / "k.npz", ("e0", "e1") if another else held, hashes)
    with pytest.raises(ValueError, match=match):
        presample(anchored(recipe, tmp_path / "runs", anchors=anchors, kernel=file), ruled_task(), initial)
    assert not (tmp_path / "runs" / "presample" / "presample.json").exists()


WRONG = packed(table_of([RehearsalRow("e0", [5], [7])]))


@pytest.mark.parametrize(
    ("journal", "change", "named"),
    [
        ("rollouts", {"prompts": [{"id": "e3", "correct": "many"}]}, "correct='many'"),
        ("rollouts", {"rows": "no parquet"}, r"\.rows='no parquet'"),
        ("rehearsed", {"rows": WRONG}, r"rows=\['e0'\] .*a finite log-probability for each"),
    ],
)
def test_a_wrong_value_in_a_whole_line_is_named_by_file_and_line(whole, tmp_path, journal, change, named):
    recipe = copied(whole[0], tmp_path)
    (tmp_path / "presample" / "presample.json").unlink()
    (path,) = (tmp_path / "presample").glob(f"{journal}*.jsonl")
    *lines, last = path.read_text().splitlines()
    entry = json.loads(last)
    path.write_text("\n".join([*lines, json.dumps({**entry, "value": {**entry["value"], **change}}), ""]))
    match = rf"^.{{,200}}jsonl line {len(lines) + 1}: .{{,99}}{named}.*; remove the line"
    with pytest.raises(RefusedError, match=match):
        presample(recipe, ruled_task(), whole[1])


def test_no_more_rollouts_are_stored_than_a_prompt_rehearses(whole, tmp_path):
    recipe = elsewhere(whole[0], tmp_path, presample=replace(whole[0].presample, buffer_per_prompt=1))
    presample(recipe, ruled_task(), whole[1])
    lines = (tmp_path / "presample" / "rollouts.jsonl").read_text().splitlines()[1:]
    tables = [unpacked(json.loads(line)["value"]["rows"])["example_id"].to_pylist() for line in lines]
    assert all(len(set(names)) == len(names) for names in tables)
    # The others are gone: a larger buffer needs rollouts of its own.
    with pytest.raises(ValueError, match=r"presample\.buffer_per_prompt=3"):
        presample(replace(recipe, presample=whole[0].presample), ruled_task(), whole[1])
