"""Against a stub that has the parts of vLLM's interface used here; vLLM itself needs a GPU."""

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

from full_scale.models import generation
from full_scale.models.generation import derived_seed, prompt_of, prompt_tokens, sample
from full_scale.models.load import declared_stop_tokens, on_device, stop_tokens
from full_scale.recipe.schema import ModelConfig, SamplingConfig

SAMPLING = SamplingConfig(temperature=0.7, top_p=0.9, max_new_tokens=5, backend="vllm")


class Engine:
    made = ()

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
        assert not Engine.asleep
        self.asked = (prompts, parameters, use_tqdm)
        Engine.last = self
        rows = [
            [[*prompt["prompt_token_ids"], i, 1] for i in range(p.n)]
            for prompt, p in zip(prompts, parameters, strict=False)
        ]
        return [SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids) for ids in group]) for group in rows]


@pytest.fixture
def vllm(monkeypatch):
    stub = SimpleNamespace(LLM=Engine, SamplingParams=lambda **settings: SimpleNamespace(**settings))
    monkeypatch.setitem(sys.modules, "vllm", stub)
    monkeypatch.setattr(Engine, "made", ())
    generation._engine.cache_clear()
    yield stub
    generation._engine.cache_clear()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    found = loaded(tiny_llama(tmp_path_factory.mktemp("llama"), hidden=16))
    return found.model, found.tokenizer


def test_one_engine_with_what_was_asked_sleeps_between_two_calls(pair, vllm):
    settings = replace(SAMPLING, vllm_memory=0.5, vllm_length=64, top_k=3, min_p=0.1, repetition_penalty=1.2)
    for seed in (0, 1):
        found = sample(*pair, [[5], [6, 7]], 3, settings, seed)
        assert [[c.token_ids for c in group] for group in found] == [
            [(5, 0, 1), (5, 1), (5, 2, 1)],
            [(6, 7, 0, 1), (6, 7, 1), (6, 7, 2, 1)],
        ]
        assert Engine.asleep
    assert Engine.made == (
        {
            "model": pair[0].name_or_path,
            "dtype": "float32",
            "generation_config": "vllm",
            "trust_remote_code": False,
            "enable_sleep_mode": True,
            "gpu_memory_utilization": 0.5,
            "max_model_len": 64,
            "tensor_parallel_size": 1,
        },
    )
    first, second = (vars(each) for each in Engine.last.asked[1])
    assert first.pop("seed") != second.pop("seed")
    law = {"temperature": 0.7, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "repetition_penalty": 1.2}
    assert first == second == {**law, "n": 3, "max_tokens": 5, "stop_token_ids": [1]}
    sample(*pair, [[5]], 1, settings, 0, greedy=True)
    (greedy,) = Engine.last.asked[1]
    assert (greedy.temperature, hasattr(greedy, "top_k")) == (0.0, False)


@pytest.mark.parametrize(("named", "own"), [(None, "3"), ("4,5,6,7", "7"), ("GPU-a,GPU-b", "GPU-b")])
def test_each_process_of_a_launch_has_an_engine_on_a_gpu_of_its_own(pair, vllm, monkeypatch, named, own):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    launch = {"RANK": "11", "LOCAL_RANK": "3", "WORLD_SIZE": "16", "MASTER_ADDR": "head"}
    if named is not None:
        launch["CUDA_VISIBLE_DEVICES"] = named
    for name, value in launch.items():
        monkeypatch.setenv(name, value)
    sample(*pair, [[5]], 1, SAMPLING, 0)
    assert Engine.environment["CUDA_VISIBLE_DEVICES"] == own
    assert not set(generation.LAUNCHED) & set(Engine.environment)
    assert {name: os.environ.get(name) for name in launch} == launch


def test_an_engine_over_several_devices_sees_all_of_them_and_stands_alone(pair, vllm, monkeypatch):
    spread = replace(SAMPLING, vllm_tensor_parallel=2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    sample(*pair, [[5]], 1, spread, 0)
    assert (Engine.made[0]["tensor_parallel_size"], Engine.environment["CUDA_VISIBLE_DEVICES"]) == (2, "4,5")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"vllm_tensor_parallel=2"):
        sample(*pair, [[5]], 1, spread, 0)


class Moved:
    """A model that only notes where it was put."""

    def __init__(self, device="cpu"):
        self.seen = []
        self.to(device)

    def to(self, device):
        self.device = torch.device(device)
        self.seen.append(self.device.type)


@pytest.mark.parametrize(("kept", "seen"), [("cpu", ["cpu", "meta", "cpu"]), ("meta", ["meta"])])
def test_a_model_kept_aside_computes_on_the_device_and_goes_back(monkeypatch, kept, seen):
    monkeypatch.setattr("full_scale.models.load.device", lambda: "meta")
    model = Moved(kept)
    with on_device(model):
        assert model.device.type == "meta"
    assert model.seen == seen


def test_adapters_are_refused_and_without_vllm_it_is_said(pair, vllm, monkeypatch):
    with pytest.raises(ValueError, match="adapters"):
        generation.draw(SimpleNamespace(peft_config={}), None, [[1]], 1, SAMPLING, 0, greedy=False)
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ValueError, match="install vllm"):
        sample(*pair, [[5]], 1, SAMPLING, 0)


SETTINGS = SamplingConfig(temperature=0.8, max_new_tokens=10, batch_size=8)
PROMPTS = [[3], [4, 5, 6], [7, 8], [9, 10, 3, 4]]
EOS = 1


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    found = loaded(tiny_llama(tmp_path_factory.mktemp("llama"), hidden=16, scale=2.0))
    return found.model, found.tokenizer


def drawn(llama, seed=0, n=4, prompts=PROMPTS, **changes):
    return sample(*llama, prompts, n, SamplingConfig(**vars(SETTINGS) | changes), seed)


def test_samples_are_a_function_of_the_seed_alone_and_all_is_left_as_it_was(llama):
    model, _ = llama
    torch.manual_seed(1)
    first, own = drawn(llama), model.generation_config
    state = torch.random.get_rng_state()
    torch.manual_seed(1)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.manual_seed(2)
    # Neither dropout nor the model's own settings take part.
    model.train()
    model.generation_config = GenerationConfig(
        top_k=1, repetition_penalty=5.0, temperature=0.1, do_sample=True
    )
    try:
        assert drawn(llama) == first
        assert (model.generation_config.top_k, model.training) == (1, True)
    finally:
        model.eval().generation_config = own
    assert drawn(llama, seed=1) != first
    assert [len(group) for group in first] == [4] * 4


def test_every_end_that_the_model_declares_ends_a_completion_of_either_sampler(tmp_path, vllm):
    folder = tiny_llama(tmp_path, hidden=16, scale=2.0)
    declared = GenerationConfig(eos_token_id=[EOS, 9, 12])
    declared.save_pretrained(folder)
    found = loaded(folder)
    ends = stop_tokens(found.model, found.tokenizer)
    assert ends == declared_stop_tokens(ModelConfig(path=str(folder))) == [EOS, 9, 12]
    rows = [c for group in drawn((found.model, found.tokenizer), n=64) for c in group]
    assert {c.token_ids[-1] for c in rows if c.finished} == set(ends)
    assert not any(end in c.token_ids[:-1] for c in rows for end in ends)
    sample(found.model, found.tokenizer, [[5]], 1, SAMPLING, 0)
    assert Engine.last.asked[1][0].stop_token_ids == ends
    # Without a generation configuration the model's own says what ends.
    (folder / "generation_config.json").unlink()
    assert declared_stop_tokens(ModelConfig(path=str(folder))) == [EOS]


@pytest.mark.parametrize("change", [{"top_k": 1}, {"min_p": 1.0}])
def test_every_cut_of_the_distribution_is_made(llama, change):
    for group in drawn(llama, **change):
        assert len({completion.token_ids for completion in group}) == 1


def test_repetitions_are_penalised(llama):
    def repeated(penalty):
        rows = [c.token_ids for group in drawn(llama, n=32, repetition_penalty=penalty) for c in group]
        return sum(len(row) - len(set(row)) for row in rows)

    assert repeated(100.0) < 0.75 * repeated(1.0)


def test_a_completion_ends_with_its_end_token_or_is_unfinished(llama):
    _, tokenizer = llama
    found = [completion for group in drawn(llama, n=32) for completion in group]
    assert {completion.finished for completion in found} == {True, False}
    for completion in found:
        assert (EOS in completion.token_ids) == completion.finished
        assert EOS not in completion.token_ids[:-1]
        assert len(completion.token_ids) == 10 or completion.finished
        assert completion.text == tokenizer.decode(
            [i for i in completion.token_ids if i not in tokenizer.all_special_ids]
        )


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
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
    model, tokenizer = llama
    found = sample(model, tokenizer, PROMPTS, 1, SETTINGS, 0, greedy=True)
    for prompt, (completion,) in zip(PROMPTS, found, strict=True):
        ids = list(prompt)
        for token in completion.token_ids:
            with torch.no_grad():
                assert int(model(torch.tensor([ids])).logits[0, -1].argmax()) == token
            ids.append(token)


def test_prompts_plain_and_through_the_chat_template(llama):
    _, tokenizer = llama
    task = ruled_task()
    assert prompt_tokens(tokenizer, task, task.train[:1], ModelConfig()) == [[3, 10]]
    object.__setattr__(task, "system", "w0")
    messages = prompt_of(task.train[0], task, True)
    assert [turn["role"] for turn in messages] == ["system", "user"]
    spoken = replace(
        task.train[0], turns=({"role": "system", "content": "w1"}, {"role": "user", "content": "w2"})
    )
    assert [turn["content"] for turn in prompt_of(spoken, task, True)] == ["w1", "w2"]
    with pytest.raises(ValueError, match=r"model\.chat=False"):
        prompt_of(spoken, task, False)
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}{{ end or 'w15' }}"
    spoken_to = ModelConfig(chat=True)
    try:
        words = tokenizer.convert_ids_to_tokens(prompt_tokens(tokenizer, task, task.train[:1], spoken_to)[0])
        ended = prompt_tokens(tokenizer, task, task.train[:1], replace(spoken_to, template={"end": "w3"}))[0]
    finally:
        tokenizer.chat_template = None
    assert words == ["w0", "p0", "p7", "w15"]
    assert tokenizer.convert_ids_to_tokens(ended) == ["w0", "p0", "p7", "w3"]


def test_seeds_of_different_pieces_differ():
    pieces = [(), (0,), (1,), ("a",), ("b",), ("a", 0), ("a", 1), ("ab", 0), (0, "a")]
    assert len({derived_seed(seed, *piece) for piece in pieces for seed in range(20)}) == 20 * len(pieces)
    assert derived_seed(3, "a", 1) == derived_seed(3, "a", 1)


@pytest.mark.parametrize(
    ("n", "prompts", "greedy", "message"),
    [
        (0, PROMPTS, False, "n=0 is not allowed"),
        (2, PROMPTS, True, "1 if greedy"),
        (1, [[3], []], False, "at least one token"),
    ],
)
def test_bad_input(llama, n, prompts, greedy, message):
    with pytest.raises(ValueError, match=message):
        sample(*llama, prompts, n, SETTINGS, 0, greedy=greedy)
    assert drawn(llama, prompts=[]) == []


def test_a_prompt_is_read_once_for_all_its_answers(tmp_path, monkeypatch):
    found = loaded(tiny_llama(tmp_path / "model"))
    prompts = [[3, 4, 5, 6, 7], [8, 9, 10]]
    settings = SamplingConfig(max_new_tokens=6, batch_size=6)
    forward, read = found.model.forward, []

    def counting(*args, **named):
        read.append(tuple(named["input_ids"].shape))
        return forward(*args, **named)

    monkeypatch.setattr(found.model, "forward", counting)
    drawn = sample(found.model, found.tokenizer, prompts, 3, settings, 1)
    # Both prompts but their last tokens, then one token a row and step.
    assert read[0] == (2, 4)
    assert set(read[1:]) == {(6, 1)}
    monkeypatch.setattr("full_scale.models.generation._prefilled", lambda *given: {})
    assert sample(found.model, found.tokenizer, prompts, 3, settings, 1) == drawn
