"""The kernel that is measured, held to gradients taken one by one; and what a command does to be resumed."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from support.linear_answers import gram
from support.rule_task import ruled_recipe, ruled_task
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS
from transformers import AutoModelForCausalLM, AutoTokenizer

from dph_cli import main
from dph_theory.transfer import AnswerKernel
from dph_theory.transfer.report import kernel_summary
from full_scale.recipe.schema import ModelConfig
from full_scale.transfer import measure
from full_scale.transfer.measure import measure_files, measure_sampled
from full_scale.transfer.metric import METRICS

ANSWERS = {"p0 p1": ["w1", "w2"], "p2 p3": ["w5"], "p4 p5 p6": ["w3"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("llama"), scale=8.0)


def rows(path, answers, **more):
    lines = [json.dumps({"prompt": prompt, "answers": right, **more}) for prompt, right in answers.items()]
    path.write_text("\n".join(lines))
    return path


def measured(model, tmp_path, wrong=4, **config):
    first = rows(tmp_path / "train.jsonl", dict([*ANSWERS.items()][:2]))
    second = rows(tmp_path / "held.jsonl", dict([*ANSWERS.items()][2:]))
    where = ModelConfig(path=str(model), **config)
    return measure_files(where, [first, second], tmp_path / "kernel.npz", wrong=wrong)


def gradient(model, tokens, answer):
    ids = torch.tensor([[*tokens, *answer]])
    table = model(input_ids=ids).logits[0].log_softmax(-1)
    log_p = sum(table[len(tokens) + i - 1, token] for i, token in enumerate(answer))
    return float(log_p.detach()), torch.cat(
        [each.reshape(-1) for each in torch.autograd.grad(log_p, [*model.parameters()])]
    )


@pytest.mark.parametrize("answers", [ANSWERS, {"p0 p1": ["w1 w2", "w4 w4"], "p2 p3": ["w5 w6"]}])
def test_the_kernel_is_that_of_the_answers_gradients(model, tmp_path, answers):
    files = [rows(tmp_path / "rows.jsonl", answers)]
    kernel = measure_files(
        ModelConfig(path=str(model)), files, tmp_path / "k.npz", wrong=3, metric="euclidean"
    )
    plain, tokenizer = AutoModelForCausalLM.from_pretrained(model), AutoTokenizer.from_pretrained(model)
    right = [(tokenizer(p)["input_ids"], tokenizer(a)["input_ids"]) for p in answers for a in answers[p]]
    found = [gradient(plain, *each) for each in right]
    places = np.flatnonzero(kernel.correct)
    assert kernel.log_p[places] == pytest.approx([log_p for log_p, _ in found], abs=1e-4)
    gradients = torch.stack([each for _, each in found])
    exact = (gradients @ gradients.T).numpy()
    size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    # The sketch is off by a 360th of two lengths, a standard deviation.
    assert np.abs(gram(kernel)[np.ix_(places, places)] - exact).max() / size.max() < 0.02
    assert kernel.names == tuple(answers)
    # All other answers together: the mean gradient of a prompt's answers is none.
    share = np.exp(kernel.log_p)
    for first, last in pairwise([*kernel.starts, len(kernel.prompt)]):
        one = slice(first, last)
        assert share[one] @ gram(kernel)[one] == pytest.approx(0.0, abs=0.01 * np.abs(gram(kernel)).max())


def test_the_kernel_is_the_same_where_it_has_fewer_numbers_than_answers(model, tmp_path, monkeypatch):
    whole = measured(model, tmp_path)
    monkeypatch.setattr(measure, "_DENSE", 5)
    parts = measured(model, tmp_path)
    np.testing.assert_allclose(gram(parts), gram(whole), rtol=1e-4, atol=1e-4 * np.abs(gram(whole)).max())


def test_the_size_of_a_kernel_is_printed_or_refused_before_any_gradient(model, tmp_path, monkeypatch):
    """Numbers of each answer so that all take four GiB; where they do not fit, the options that lessen it."""
    reports = []
    files = ModelConfig(path=str(model)), [rows(tmp_path / "train.jsonl", ANSWERS)], tmp_path / "k.npz"
    monkeypatch.setattr(measure, "_LARGEST", 2**15)
    monkeypatch.setattr(measure, "_DENSE", 5)
    kernel = measure_files(*files, progress=lambda *stage: reports.append(stage), say=reports.append)
    assert kernel.gradients.shape[1] == 2**10
    assert reports[0][0].startswith("at most 31 answers, 1,024 numbers each: 0.00024 GiB on disk until")
    stages = [report if isinstance(report, tuple) else tuple(report) for report in reports[1:]]
    # The time is printed before the metric, from the first prompt, and after it, from those of the metric.
    before, after = (text for text, *numbers in stages if not numbers)
    assert before == "3 prompts and the metric: about 0.1 minutes, by the first prompt"
    assert after.startswith("the gradients of 3 prompts will take about 0.1 minutes")
    starts = {stage: i for i, (stage, *_) in reversed([*enumerate(stages)])}
    assert starts[before] < starts["the metric"] < starts[after] < starts["gradients"]
    assert {stage for stage, *numbers in stages if numbers} == {
        "the metric",
        "gradients",
        "gradients put together",
    }
    monkeypatch.setattr(measure, "_LARGEST", 2**10)
    with pytest.raises(ValueError, match=r"answers=31 is not allowed: 1 at most, .*fewer prompts"):
        measure_files(*files, progress=pytest.fail)


def test_the_likeliest_wrong_answers_have_gradients_of_their_own(model, tmp_path):
    kernel = measured(model, tmp_path)
    assert kernel.sets == ("train", "train", "held out")
    assert np.bincount(kernel.prompt).tolist() == [2 + 4 + 1, 1 + 4 + 1, 1 + 4 + 1]
    plain, tokenizer = AutoModelForCausalLM.from_pretrained(model), AutoTokenizer.from_pretrained(model)
    ids = torch.tensor([tokenizer("p2 p3")["input_ids"]])
    table = plain(input_ids=ids).logits[0, -1].log_softmax(-1)
    (right,) = tokenizer("w5")["input_ids"]
    table[right] = -torch.inf
    mine = (kernel.prompt == 1) & ~kernel.correct
    assert kernel.log_p[mine][:4] == pytest.approx(table.topk(4).values.tolist(), abs=1e-5)
    assert kernel.about["parameters"] == sum(each.numel() for each in plain.parameters())


@pytest.mark.filterwarnings(TRL_WARNS)
def test_of_an_adapter_its_own_parameters_count(model, tmp_path):
    lora = {"r": 2, "target_modules": ["q_proj", "v_proj"]}
    kernel = measured(model, tmp_path, lora=lora)
    whole = measured(model, tmp_path)
    assert kernel.about["parameters"] < whole.about["parameters"] / 10
    assert np.trace(gram(kernel)) < np.trace(gram(whole))
    assert kernel.log_p == pytest.approx(whole.log_p, abs=1e-5)


def test_what_is_measured_is_kept_until_the_kernel_is_whole(model, tmp_path, monkeypatch):
    given = ModelConfig(path=str(model)), [rows(tmp_path / "train.jsonl", ANSWERS)], tmp_path / "kernel.npz"
    whole = measure_files(*given, wrong=4)
    (tmp_path / "kernel.npz").unlink()
    calls = []

    def stopped(*said):
        calls.append(said)
        if said[:2] == ("gradients", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_files(*given, wrong=4, progress=stopped)
    parts = tmp_path / "kernel.npz.parts"
    kept = {each.name: each.stat().st_mtime_ns for each in parts.glob("[0-9]*.npz")}
    assert sorted(kept) == ["0.npz", "1.npz"]
    with pytest.raises(ValueError, match=r"wrong=5 .*: .*remove it to begin"):
        measure_files(*given, wrong=5)
    found = measure_files(*given, wrong=4)
    assert gram(found) == pytest.approx(gram(whole), rel=1e-4, abs=1e-3)
    assert not parts.exists()


def test_a_prompt_that_comes_twice_is_refused_before_anything_is_measured(model, tmp_path):
    path = rows(tmp_path / "rows.jsonl", ANSWERS)
    with pytest.raises(ValueError, match="once in all files, or with an id in each row"):
        measure_files(ModelConfig(path=str(model)), [path, path], tmp_path / "kernel.npz")
    assert not (tmp_path / "kernel.npz.parts").exists()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "p1"}, "line 1: answers=None is not allowed: a list of correct answers"),
        ({"prompt": "p1", "answers": []}, "answers"),
        ({"prompt": "p1", "answers": "w1"}, "answers='w1'"),
        ({"prompt": "p1", "answers": ["w1", "w1 w2"]}, "of one length in tokens; else sample them"),
        ({"answers": ["w1"]}, "no field 'prompt'"),
    ],
)
def test_rows_that_do_not_fit(model, tmp_path, row, said):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(ValueError, match=said):
        measure_files(ModelConfig(path=str(model)), [path], tmp_path / "kernel.npz")
    assert not (tmp_path / "kernel.npz").exists()


def test_sampled_answers_by_verdict_and_the_frequent_ones_alone(tmp_path, monkeypatch):
    recipe, task = ruled_recipe(tmp_path), ruled_task()
    kernel = measure_sampled(recipe, task, tmp_path / "kernel.npz", samples=24, own=2, limit=3)
    assert set(kernel.sets) == {"train", *task.evaluation}
    assert kernel.prompts_in("train").tolist() == [0, 1, 2]
    # Shares are of 24 answers, and no answer is left over.
    shares = np.exp(kernel.log_p) * 24
    assert shares == pytest.approx(shares.round(), abs=1e-6)
    assert np.bincount(kernel.prompt).max() <= 2 + 2
    again = measure_sampled(recipe, task, tmp_path / "again.npz", samples=24, own=2, limit=3)
    assert gram(again) == pytest.approx(gram(kernel))
    by_adam = measure_sampled(recipe, task, tmp_path / "adam.npz", samples=24, own=2, limit=3, metric="adam")
    assert by_adam.log_p == pytest.approx(kernel.log_p)
    assert gram(by_adam) != pytest.approx(gram(kernel), rel=0.5)
    assert kernel.about["answers"] == "24 sampled"
    assert np.linalg.eigvalsh(gram(kernel)).min() > -1e-6 * np.linalg.norm(gram(kernel))
    told = "\n".join(kernel_summary(kernel, tmp_path / "kernel.npz"))
    unmixed = (kernel.log_odds.rates % 1 == 0).sum()
    assert f"\n{unmixed} prompts all correct or all incorrect say nothing: " in told
    assert "was negative: set to zero" in told
    monkeypatch.setattr(measure, "_DENSE", 1)
    many = measure_sampled(recipe, task, tmp_path / "many.npz", samples=24, own=2, limit=1)
    assert many.about["noise"] > 0
    assert "squares, which a kernel of so many answers retains" in "".join(kernel_summary(many, tmp_path))


def test_two_halves_of_many_answers_keep_their_own_noise_out(model, tmp_path):
    """Of answers drawn once, the square of the mean gradient is the product of two halves' means."""
    recipe, task = ruled_recipe(tmp_path), ruled_task()
    kernel = measure_sampled(recipe, task, tmp_path / "kernel.npz", samples=40, own=1, limit=2)
    few = measure_sampled(recipe, task, tmp_path / "few.npz", samples=40, own=40, limit=2)
    K, rates = kernel.log_odds
    other, same = few.log_odds
    assert rates == pytest.approx(same)
    mixed = (rates > 0) & (rates < 1)
    assert mixed.sum() > 1
    # The products of different prompts are those of the same answers, however they are put together.
    off = ~np.eye(len(K), dtype=bool) & np.outer(mixed, mixed)
    assert K[off] == pytest.approx(other[off], rel=0.05, abs=0.02 * np.abs(K).max())


@pytest.mark.parametrize("metric", METRICS)
def test_the_command_measures_says_what_it_found_and_what_is_next(model, tmp_path, metric):
    train = rows(tmp_path / "train.jsonl", ANSWERS)
    held = rows(tmp_path / "held.jsonl", {"p6 p7": ["w1"]})
    kernel = tmp_path / "kernel.npz"
    asked = ["transfer", str(model), str(train), str(held), "--to", str(kernel), "--own", "3"]
    asked += ["--metric", metric]
    done = CliRunner().invoke(main, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "AnswerKernel(3 train, 1 held out" in done.output
    assert "held out: as GRPO begins Pass@1" in done.output
    assert done.output.rstrip().endswith(f"next: dph predict CONFIG --transfer {kernel}")
    stored = AnswerKernel.load(kernel)
    assert stored.sets == ("train", "train", "train", "held out")
    assert stored.about["metric"] == metric


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "arguments=[] is not allowed: MODEL PROMPTS, or --config R.yaml"),
        (["./nowhere", "rows.jsonl"], "nowhere"),
        (["--config", "no-recipe"], "config='no-recipe'"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, words, said):
    done = CliRunner().invoke(main, ["transfer", *words, "--to", str(tmp_path / "k.npz")])
    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")
