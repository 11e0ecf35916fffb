"""By transformers, and against a stub of the parts of vLLM's interface used here; vLLM itself needs a GPU."""

import os
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from support.rule_task import loaded, ruled_task
from support.tiny_llama import tiny_llama
from transformers import GenerationConfig

from dph_theory.checkpoints import Counts, counts
from dph_theory.checkpoints.data_warnings import data_warnings
from full_scale.models import generation
from full_scale.models.generation import check_room, prompt_of, prompt_tokens, sample
from full_scale.models.load import declared_stop_tokens, stop_tokens
from full_scale.recipe.schema import ModelConfig, SamplingConfig

BY_VLLM = SamplingConfig(temperature=0.7, top_p=0.9, max_new_tokens=5, backend="vllm")
SAMPLING = SamplingConfig(temperature=0.8, max_new_tokens=10, batch_size=8)
PROMPTS = [[3], [4, 5, 6], [7, 8], [9, 10, 3, 4]]
EOS = 1


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    found = loaded(tiny_llama(tmp_path_factory.mktemp("llama"), hidden=16, scale=2.0))
    return found.model, found.tokenizer


def drawn(llama, seed=0, n=4, prompts=PROMPTS, **changes):
    return sample(*llama, prompts, n, replace(SAMPLING, **changes), seed)


class Engine:
    def __init__(self, **settings):
        Engine.made = (*Engine.made, settings)
        Engine.environment = dict(os.environ)
        Engine.asleep = False

    def sleep(self, *, level):
        assert level == 1
        Engine.asleep = True

    def wake_up(self):
        Engine.asleep = False

    def generate(self, prompts, parameters, *, use_tqdm):
        assert (Engine.asleep, use_tqdm) == (False, False)
        Engine.asked = parameters
        rows = [
            [[*prompt["prompt_token_ids"], i, 1] for i in range(p.n)]
            for prompt, p in zip(prompts, parameters, strict=True)
        ]
        return [SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids) for ids in group]) for group in rows]


@pytest.fixture
def vllm(monkeypatch):
    stub = SimpleNamespace(LLM=Engine, SamplingParams=lambda **settings: SimpleNamespace(**settings))
    monkeypatch.setitem(sys.modules, "vllm", stub)
    monkeypatch.setattr(Engine, "made", (), raising=False)
    generation._engine.cache_clear()
    yield stub
    generation._engine.cache_clear()


def test_one_engine_with_what_was_asked_sleeps_between_two_calls(llama, vllm):
    settings = replace(BY_VLLM, vllm_memory=0.5, vllm_length=64, top_k=3, min_p=0.1, repetition_penalty=1.2)
    for seed in (0, 1):
        found = sample(*llama, [[5], [6, 7]], 3, settings, seed)
        assert [[c.token_ids for c in group] for group in found] == [
            [(5, 0, 1), (5, 1), (5, 2, 1)],
            [(6, 7, 0, 1), (6, 7, 1), (6, 7, 2, 1)],
        ]
        assert Engine.asleep
    (made,) = Engine.made
    expected = {"model": llama[0].name_or_path, "dtype": "float32", "generation_config": "vllm"}
    expected |= {"trust_remote_code": False, "enable_sleep_mode": True, "tensor_parallel_size": 1}
    assert made == expected | {"gpu_memory_utilization": 0.5, "max_model_len": 64}
    first, second = (vars(each) for each in Engine.asked)
    assert first.pop("seed") != second.pop("seed")
    law = {"temperature": 0.7, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "repetition_penalty": 1.2}
    assert first == second == {**law, "n": 3, "max_tokens": 5, "stop_token_ids": [EOS]}
    sample(*llama, [[5]], 1, settings, 0, greedy=True)
    (greedy,) = Engine.asked
    assert (greedy.temperature, hasattr(greedy, "top_k")) == (0.0, False)


@pytest.mark.parametrize(("named", "own"), [(None, "3"), ("GPU-a,GPU-b", "GPU-b")])
def test_each_process_of_a_launch_has_an_engine_on_a_gpu_of_its_own(llama, vllm, monkeypatch, named, own):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    launch = {"RANK": "11", "LOCAL_RANK": "3", "WORLD_SIZE": "16", "MASTER_ADDR": "head"}
    if named is not None:
        launch["CUDA_VISIBLE_DEVICES"] = named
    for name, value in launch.items():
        monkeypatch.setenv(name, value)
    sample(*llama, [[5]], 1, BY_VLLM, 0)
    assert Engine.environment["CUDA_VISIBLE_DEVICES"] == own
    assert not set(generation.LAUNCHED) & set(Engine.environment)
    assert {name: os.environ.get(name) for name in launch} == launch


def test_an_engine_over_several_devices_sees_all_of_them_and_stands_alone(llama, vllm, monkeypatch):
    spread = replace(BY_VLLM, vllm_tensor_parallel=2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    sample(*llama, [[5]], 1, spread, 0)
    assert (Engine.made[0]["tensor_parallel_size"], Engine.environment["CUDA_VISIBLE_DEVICES"]) == (2, "4,5")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"vllm_tensor_parallel=2"):
        sample(*llama, [[5]], 1, spread, 0)


def test_samples_are_a_function_of_the_seed_alone_and_all_is_left_as_it_was(llama, monkeypatch):
    model, _ = llama
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    first = drawn(llama)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.manual_seed(2)
    # Neither dropout nor the model's own settings take part.
    own = GenerationConfig(top_k=1, repetition_penalty=5.0, temperature=0.1, do_sample=True)
    monkeypatch.setattr(model.train(), "generation_config", own)
    assert drawn(llama) == first
    assert (model.generation_config, model.training) == (own, True)
    model.eval()
    assert drawn(llama, seed=1) != first
    assert [len(group) for group in first] == [4] * 4


def test_a_completion_ends_at_every_end_that_the_model_declares_or_is_unfinished(tmp_path, vllm):
    folder = tiny_llama(tmp_path, hidden=16, scale=2.0)
    GenerationConfig(eos_token_id=[EOS, 9, 12]).save_pretrained(folder)
    found = loaded(folder)
    ends = stop_tokens(found.model, found.tokenizer)
    assert ends == declared_stop_tokens(ModelConfig(path=str(folder))) == [EOS, 9, 12]
    rows = [c for group in drawn((found.model, found.tokenizer), n=64) for c in group]
    assert {c.token_ids[-1] for c in rows if c.finished} == set(ends)
    assert {c.finished for c in rows} == {True, False}
    for row in rows:
        assert (row.token_ids[-1] in ends) == row.finished
        assert not set(ends) & set(row.token_ids[:-1])
        assert len(row.token_ids) == 10 or row.finished
        assert row.text == found.tokenizer.decode(row.token_ids, skip_special_tokens=True)
    sample(found.model, found.tokenizer, [[5]], 1, BY_VLLM, 0)
    assert Engine.asked[0].stop_token_ids == ends
    # Without a generation configuration the model's own says what ends.
    (folder / "generation_config.json").unlink()
    assert declared_stop_tokens(ModelConfig(path=str(folder))) == [EOS]


def test_every_cut_of_the_distribution_is_made(llama):
    for change in ({"top_k": 1}, {"min_p": 1.0}):
        assert all(len({c.token_ids for c in group}) == 1 for group in drawn(llama, **change)), change
    repeated = [
        sum(len(c.token_ids) - len(set(c.token_ids)) for group in answers for c in group)
        for answers in (drawn(llama, n=16, repetition_penalty=penalty) for penalty in (1.0, 100.0))
    ]
    assert repeated[1] < 0.75 * repeated[0]


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_first_tokens_have_the_models_law(llama, temperature):
    model, _ = llama
    n, prompt = 4000, [4, 5, 6]
    found = drawn(llama, n=n, prompts=[prompt], temperature=temperature, max_new_tokens=1, batch_size=n)
    counts = Counter(completion.token_ids[0] for completion in found[0])
    with torch.no_grad():
        law = (model(torch.tensor([prompt])).logits[0, -1] / temperature).softmax(dim=-1).double().numpy()
    deviation = np.array([counts[i] for i in range(len(law))]) / n - law
    # Total variation of n draws from m outcomes: sqrt(m/n)/2 at most in mean; a wrong temperature gives .1.
    assert np.abs(deviation).sum() / 2 < 0.06


def test_greedy_is_the_likeliest_token_each_time(llama):
    found = sample(*llama, PROMPTS, 1, SAMPLING, 0, greedy=True)
    for prompt, (completion,) in zip(PROMPTS, found, strict=True):
        ids = torch.tensor([[*prompt, *completion.token_ids]])
        with torch.no_grad():
            likeliest = llama[0](ids).logits[0, len(prompt) - 1 : -1].argmax(dim=-1)
        assert tuple(likeliest.tolist()) == completion.token_ids


def test_prompts_plain_and_through_the_chat_template(llama, monkeypatch):
    _, tokenizer = llama
    task = replace(ruled_task(), system="w0")
    assert prompt_tokens(tokenizer, task, task.train[:1], ModelConfig()) == [[3, 10]]
    assert [turn["role"] for turn in prompt_of(task.train[0], task, True)] == ["system", "user"]
    turns = ({"role": "system", "content": "w1"}, {"role": "user", "content": "w2"})
    spoken = replace(task.train[0], turns=turns)
    assert [turn["content"] for turn in prompt_of(spoken, task, True)] == ["w1", "w2"]
    with pytest.raises(ValueError, match=r"model\.chat=False"):
        prompt_of(spoken, task, False)
    template = "{% for m in messages %}{{ m['content'] }} {% endfor %}{{ end or 'w15' }}"
    monkeypatch.setattr(tokenizer, "chat_template", template)
    for settings, last in (({}, "w15"), ({"end": "w3"}, "w3")):
        config = ModelConfig(chat=True, template=settings)
        (ids,) = prompt_tokens(tokenizer, task, task.train[:1], config)
        assert tokenizer.convert_ids_to_tokens(ids) == ["w0", "p0", "p7", last]


@pytest.mark.parametrize(("given", "settings", "named"), [
    ((PROMPTS, 0), {}, "n=0 is not allowed"), ((PROMPTS, 2), {"greedy": True}, "1 if greedy"),
    (([[3], []], 1), {}, "at least one token"), (([[3]], 1), {"backend": "vllm"}, "install vllm"),
    (([[3]], 1), {"backend": "vllm", "peft_config": {}}, "adapters"),
])  # fmt: skip
def test_what_cannot_be_sampled_is_named(llama, monkeypatch, given, settings, named):
    monkeypatch.setitem(sys.modules, "vllm", None)
    model, tokenizer = llama
    if "peft_config" in settings:
        monkeypatch.setattr(model, "peft_config", {}, raising=False)
    sampling = replace(SAMPLING, backend=settings.get("backend", "transformers"))
    with pytest.raises(ValueError, match=named):
        sample(model, tokenizer, *given, sampling, 0, greedy=settings.get("greedy", False))
    assert drawn(llama, prompts=[]) == []


def test_a_prompt_is_read_once_for_all_its_answers(llama, monkeypatch):
    model, _ = llama
    forward, read, prompts = model.forward, [], [[3, 4, 5, 6, 7], [8, 9, 10]]

    def counting(*args, **named):
        read.append(tuple(named["input_ids"].shape))
        return forward(*args, **named)

    monkeypatch.setattr(model, "forward", counting)
    found = drawn(llama, n=3, prompts=prompts, batch_size=6)
    # Both prompts but their last tokens, then one token a row and step.
    assert read[0] == (2, 4)
    assert set(read[1:]) == {(6, 1)}
    monkeypatch.setattr(generation, "_prefilled", lambda *given: {})
    assert drawn(llama, n=3, prompts=prompts, batch_size=6) == found


def test_its_answers_neither_repeat_nor_share_their_random_numbers(tmp_path):
    """As evaluations and rehearsal buffers draw them: held to the doubts of `dph compare`."""
    found = loaded(tiny_llama(tmp_path, hidden=16, scale=2.0))
    prompts = [[3 + i % 8, 11 + i // 8] for i in range(48)]

    def told(answers):
        rows = {}
        for i, of in enumerate(answers):
            tokens = [answer.token_ids[0] for answer in of]
            given = {"id": i, "correct": [token % 2 for token in tokens], "answer": [*map(str, tokens)]}
            rows[i] = counts.prompt_row(given)
        return " ".join(data_warnings([Counts("own", rows, "own")]))

    one_token = replace(SAMPLING, max_new_tokens=1, batch_size=16)
    for n in (8, 16):
        assert told(sample(found.model, found.tokenizer, prompts, n, one_token, 0)) == ""
    # Each prompt from the same state of the generator would be told.
    alike = [sample(found.model, found.tokenizer, [prompt], 16, one_token, 0)[0] for prompt in prompts]
    assert "share their random numbers" in told(alike)


def test_prompts_that_leave_no_room_for_an_answer_are_counted():
    check_room("training", [[1] * 8, [1] * 9], context=20, new=11)
    check_room("training", [[1] * 90], context=None, new=11)
    said = r"training prompts='2 of 3 longer' .* at most 9 tokens, .*=11 .* of 20; the longest has 12"
    with pytest.raises(ValueError, match=said):
        check_room("training", [[1] * 9, [1] * 10, [1] * 12], context=20, new=11)
