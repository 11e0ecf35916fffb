"""The page to copy, `examples/dph_on_trl.py`: our loss on the same rows, and a training of its own."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny_llama import tiny_tokenizer
from support.tiny_training import PROMPTS, SETTINGS, TRL_WARNS, buffer, even_reward, trainer
from transformers import AutoModelForCausalLM

from dph_theory import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.losses import generator_loss

PAGE = Path(__file__).parents[3] / "examples" / "dph_on_trl.py"
pytestmark = pytest.mark.filterwarnings(TRL_WARNS)


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("dph_on_trl", PAGE)
    sys.modules["dph_on_trl"] = loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules["dph_on_trl"]


ROWS = [(list(row.prompt_ids), list(row.completion_ids)) for row in buffer().rows()]


def made(page, model, output, **settings):
    rows = settings.pop("rows", ROWS)
    return trainer(model, output, kind=page.DPHTrainer, config=page.DPHConfig, rehearsal=rows, **settings)


@pytest.mark.parametrize("name", ["forward_kl", "k3", "js", "alpha"])
def test_a_generator_is_that_of_the_divergence_of_that_name(page, name):
    x = torch.linspace(-3, 2, 11, dtype=torch.float64)
    of = {"forward_kl": FORWARD_KL, "js": JENSEN_SHANNON, "alpha": alpha_divergence(0.2)}
    mask = torch.ones(1, 11, dtype=torch.bool)
    found = page.GENERATORS[name](x).mean()
    if name == "k3":
        wanted = generator_loss(FORWARD_KL, x[None], mask, gauge="normalised")
    else:
        wanted = generator_loss(of[name], x[None], mask)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-9)


@pytest.mark.parametrize("accumulated", [1, 2, 4])
def test_its_gradient_is_that_of_all_rows_at_once_whatever_the_accumulation(
    page, model, tmp_path, accumulated
):
    own = made(page, model, tmp_path, rehearsal_rows=9, gradient_accumulation_steps=accumulated)
    model = own.model.train()
    own.log_ref = own._reference(model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    own.current_gradient_accumulation_steps = accumulated
    parts = [own.rehearsed(model, 3, micro) for micro in range(accumulated)]
    drawn = np.random.default_rng([own.args.seed, 3]).permutation(len(ROWS))[:9]
    log_pi, mask = own._log_probs(model, drawn)
    log_ref = torch.nn.utils.rnn.pad_sequence([own.log_ref[i] for i in drawn], True, 0.0, "left")
    wanted = generator_loss(FORWARD_KL, torch.where(mask, log_pi - log_ref, 0.0), mask)
    assert sum(parts).item() == pytest.approx(wanted.item(), rel=1e-5)
    assert abs(wanted.item()) > 1e-3


def test_it_rehearses_from_a_ratio_of_one_and_the_initial_model_s_stored_answers(page, model, tmp_path):
    own = made(page, model, tmp_path, max_steps=2, eta=0.5)
    own.train()
    largest = "rehearsal/log_u_max_abs"
    logged = [row[largest] for row in own.state.log_history if largest in row]
    assert logged[0] == pytest.approx(0, abs=1e-5)
    assert logged[1] > 1e-4
    assert (tmp_path / "reference.pt").is_file()


@pytest.mark.parametrize("divided_by", ["std", "mean", "none"])
def test_advantages_are_divided_by_what_the_setting_names(page, model, tmp_path, divided_by):
    own = made(page, model, tmp_path, divided_by=divided_by, reward=even_reward)
    own.model.train()
    size = own.num_generations
    inputs = [{"prompt": prompt} for prompt in PROMPTS[:4] for _ in range(size)]
    advantages = own._generate_and_score_completions(inputs)["advantages"].view(-1, size)
    rewards = own.rewards.view(-1, size)
    centred = rewards - rewards.mean(dim=1, keepdim=True)
    divisors = {"std": rewards.std(dim=1) + 1e-4, "mean": rewards.mean(dim=1), "none": torch.ones(4)}
    wanted = torch.where(centred == 0, 0.0, centred / divisors[divided_by][:, None])
    torch.testing.assert_close(advantages, wanted)
    assert (wanted != 0).any()


def test_presampling_stores_answers_of_prompts_that_are_solved(page, model):
    model, tokenizer = AutoModelForCausalLM.from_pretrained(model), tiny_tokenizer()
    torch.manual_seed(0)
    solved, others, rows = page.presample(
        model, tokenizer, PROMPTS, lambda prompt, answer: prompt != "p3", k=3, max_new_tokens=40
    )
    assert others == ["p3"]
    assert solved == [prompt for prompt in PROMPTS if prompt != "p3"]
    assert all(answer[-1] == tokenizer.eos_token_id for _, answer in rows)
    assert len(rows) <= 3 * len(solved)


ALONE = """
import sys
assert not any(name.startswith(("dph_theory", "full_scale")) for name in sys.modules)
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from dph_on_trl import DPHConfig, DPHTrainer, presample
model, tokenizer = AutoModelForCausalLM.from_pretrained({model!r}), AutoTokenizer.from_pretrained({model!r})
torch.manual_seed(0)
right = lambda prompt, answer: prompt in ("p0", "p1")
solved, others, rows = presample(model, tokenizer, {prompts!r}, right, k=2, max_new_tokens=60)
reward = lambda completions, **columns: [float(len(text.split()) % 2 == 0) for text in completions]
trainer = DPHTrainer(model=model, reward_funcs=reward, args=DPHConfig("out", eta=0.05, **{settings!r}),
    train_dataset=Dataset.from_list([{{"prompt": each}} for each in others]), processing_class=tokenizer,
    rehearsal=rows)
trainer.train()
assert not any(name.startswith(("dph_theory", "full_scale")) for name in sys.modules)
print(len(rows) > 0, trainer.state.global_step)
"""


@pytest.mark.slow
def test_copied_into_an_empty_folder_it_trains(model, tmp_path):
    (tmp_path / "dph_on_trl.py").write_text(PAGE.read_text())
    settings = {**SETTINGS, "max_steps": 2}
    (tmp_path / "run.py").write_text(ALONE.format(model=str(model), prompts=PROMPTS, settings=settings))
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-2:] == ["True", "2"]
