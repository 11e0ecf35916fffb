"""Against a stub that has the parts of vLLM's interface used here; vLLM itself needs a GPU."""

import os
import sys
from types import SimpleNamespace

import pytest
from support.rule_task import loaded
from support.tiny_llama import tiny_llama

from full_scale.models import vllm_backend
from full_scale.models.generation import sample
from full_scale.recipe.schema import SamplingConfig

SAMPLING = SamplingConfig(temperature=0.7, top_p=0.9, max_new_tokens=5, backend="vllm")


class Engine:
    made = ()

    def __init__(self, **settings):
        Engine.made = (*Engine.made, settings)
        Engine.environment = dict(os.environ)

    def generate(self, prompts, parameters, *, use_tqdm):
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
    vllm_backend._engine.cache_clear()
    yield stub
    vllm_backend._engine.cache_clear()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    found = loaded(tiny_llama(tmp_path_factory.mktemp("llama"), hidden=16))
    return found.model, found.tokenizer


def test_completions_come_back_in_order(pair, vllm):
    found = sample(*pair, [[5], [6, 7]], 3, SAMPLING, 0)
    assert [[c.token_ids for c in group] for group in found] == [
        [(5, 0, 1), (5, 1), (5, 2, 1)],
        [(6, 7, 0, 1), (6, 7, 1), (6, 7, 2, 1)],
    ]
    assert all(completion.finished for group in found for completion in group)


def test_one_engine_with_what_was_asked(pair, vllm):
    model, _ = pair
    for seed in (0, 1):
        sample(*pair, [[5], [6, 7]], 3, SAMPLING, seed)
    (made,) = Engine.made
    assert made == {
        "model": model.name_or_path,
        "dtype": "float32",
        "generation_config": "vllm",
        "trust_remote_code": False,
    }
    _, parameters, shown = Engine.last.asked
    assert not shown
    assert [(p.n, p.temperature, p.top_p, p.top_k, p.max_tokens) for p in parameters] == [
        (3, 0.7, 0.9, -1, 5)
    ] * 2
    assert parameters[0].seed != parameters[1].seed
    assert parameters[0].stop_token_ids == [1]


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
    assert not set(vllm_backend.LAUNCHED) & set(Engine.environment)
    assert {name: os.environ.get(name) for name in launch} == launch


def test_greedy_is_temperature_zero(pair, vllm):
    sample(*pair, [[5]], 1, SAMPLING, 0, greedy=True)
    assert [p.temperature for p in Engine.last.asked[1]] == [0.0]


def test_adapters_are_refused(vllm):
    with pytest.raises(ValueError, match="adapters"):
        vllm_backend.draw(SimpleNamespace(peft_config={}), None, [[1]], 1, SAMPLING, 0, greedy=False)


def test_without_vllm_it_is_said(pair, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    vllm_backend._engine.cache_clear()
    with pytest.raises(ValueError, match="install vllm"):
        sample(*pair, [[5]], 1, SAMPLING, 0)
