"""The collapse meter, and the size of a step in logits, on a plain GRPOTrainer."""

import math

import numpy as np
import pytest
import torch
from support.tiny_llama import plain_log_probs, tiny_tokenizer
from support.tiny_training import (
    PROMPTS,
    TRL_WARNS,
    StopAfter,
    checkpoint,
    even_reward,
    flat_reward,
    same,
    trainer,
    weights,
)
from transformers import AutoModelForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from dph_theory.finite_training import SmallNoiseWarning, excess_by_noise
from dph_theory.meter import excess_kl_estimate
from full_scale.training.collapse_meter import STEP, CollapseMeter, _excess_by_noise, _step_of
from full_scale.training.metrics import CERTIFIED
from full_scale.training.train import _findings

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
RATES = dict(zip(PROMPTS, np.linspace(0.2, 0.9, 8).tolist(), strict=True))


def plain(model, output, **settings):
    return trainer(model, output, kind=GRPOTrainer, config=GRPOConfig, **settings)


def metered(model, output, rates=RATES, *, moved=False, meter=(), **settings):
    """A finished training that the meter was attached to, and its logs; `moved`: from another reference."""
    run = plain(model, output, **settings)
    if moved:
        with torch.no_grad():
            next(iter(run.ref_model.parameters())).mul_(1.5)
    CollapseMeter(rates, **dict(meter)).attach(run)
    run.train()
    return run, measured(run)


def measured(run):
    return [
        {name.removeprefix("collapse/"): value for name, value in log.items() if "collapse" in name}
        for log in run.state.log_history
        if "loss" in log
    ]


class Watcher(TrainerCallback):
    """What was sampled at each step, and the weights it was sampled from."""

    def __init__(self):
        self.sampled, self.weights = [], []

    def on_step_begin(self, args, state, control, model=None, **others):
        self.weights.append({name: value.detach().clone() for name, value in model.state_dict().items()})

    def reward(self, prompts, completions, completion_ids, **columns):
        rewards = even_reward(completions)
        self.sampled.append((list(prompts), completion_ids, rewards))
        return rewards


def test_two_lines_on_a_plain_grpo_trainer_measure_what_the_theory_says(model, tmp_path):
    watcher = Watcher()
    _, logs = metered(model, tmp_path, reward=watcher.reward, callbacks=[watcher])
    tokenizer = tiny_tokenizer()
    policy, initial = (AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32) for _ in range(2))

    def sums(of, prompts, completions):
        found = [
            plain_log_probs(of, tokenizer(prompt)["input_ids"], ids).double().sum()
            for prompt, ids in zip(prompts, completions, strict=True)
        ]
        return torch.stack(found).detach().reshape(-1, 4)

    for step in (0, 3):
        policy.load_state_dict(watcher.weights[step])
        prompts, completions, rewards = watcher.sampled[step]
        log_pi, log_ref = (sums(each, prompts, completions) for each in (policy, initial))
        rates = torch.tensor([RATES[prompt] for prompt in prompts[::4]]).double()
        sampled = (each.numpy() for each in (log_pi, log_ref, rates))
        expected = excess_kl_estimate(np.reshape(rewards, (-1, 4)), *sampled)
        wanted = {
            "excess_kl": expected.mean,
            "excess_kl_se": expected.mean_standard_error,
            "certified_share": expected.certified,
            "pass_rate": np.mean(rewards),
            "kl": (log_pi - log_ref).mean().item(),
            "cost": (log_pi - log_ref).mean().item() - expected.mean,
            "groups_left_out": 0,
        }
        assert logs[step] == pytest.approx(wanted, abs=1e-5)
    assert logs[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert abs(logs[3]["kl"]) > 1e-3


def test_meter_and_step_change_neither_weights_nor_random_numbers(model, tmp_path, caplog):
    # A trainer seeds everything when it is made.
    alone = plain(model, tmp_path / "plain", max_steps=6)
    alone.train()
    assert [len(log) for log in measured(alone)] == [0] * 6
    both, logs = metered(model, tmp_path / "both", meter={"step": True, "every": 2}, max_steps=6)
    assert same(weights(alone), weights(both))
    # Every second batch alone; luck needs a step that was measured before.
    assert [len(log) for log in logs] == [7, 0, 8, 0, 8, 0]
    assert all(math.isfinite(log[STEP]) for log in both.state.log_history if STEP in log)
    assert logs[2]["by_luck"] >= 0
    assert caplog.text.count("collapse/by_luck is an upper bound: the noise is not small") == 1


def test_a_resumed_run_certifies_what_the_unbroken_run_does(model, tmp_path):
    settings = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4, "learning_rate": 1e-3}

    def run(folder, *, start=None, **more):
        resumed = trainer(model, tmp_path / folder, **settings, **more)
        CollapseMeter(RATES).attach(resumed, resumed.reference)
        resumed.train(resume_from_checkpoint=start)
        log = [log for log in resumed.state.log_history if "loss" in log]
        return [entry[CERTIFIED] for entry in log], _findings("GRPO", log, resumed.args)

    unbroken = run("unbroken")
    run("stopped", callbacks=[StopAfter(3)])
    assert run("stopped", start=checkpoint(tmp_path / "stopped", 2)) == unbroken
    assert all(0 < share <= 1 for share in unbroken[0])
    assert sum("excess KL proves" in said or "no strategy of share" in said for said in unbroken[1]) == 1


def test_prompts_without_a_base_rate_are_left_out_and_counted(model, tmp_path):
    known = {prompt: RATES[prompt] for prompt in PROMPTS[:3]}
    _, logs = metered(model, tmp_path, known, meter={"key": "example_id"})
    left = [log["groups_left_out"] for log in logs]
    # Two groups a step, each of the eight prompts once.
    assert sum(left) == 5
    assert ["pass_rate" in log for log in logs] == [count < 2 for count in left]


def length_reward(completions, **columns):
    return [float(len(text)) for text in completions]


def test_of_several_rewards_the_named_verdict_is_measured(model, tmp_path):
    rewards = {"reward": [length_reward, even_reward], "reward_weights": [0.1, 1.0]}
    run, logs = metered(model, tmp_path, meter={"verdict": "even_reward"}, **rewards)
    for log, plain_log in zip(logs, run.state.log_history, strict=False):
        assert log["pass_rate"] == pytest.approx(plain_log["rewards/even_reward/mean"])
        assert log["pass_rate"] != pytest.approx(plain_log["reward"])


def test_completions_that_trl_masks_are_measured_all_the_same(model, tmp_path):
    """At the first step, with the same samples, the measures agree; TRL masks those that are cut off."""
    found = []
    for masked in (False, True):
        settings = {"mask_truncated_completions": masked, "steps_per_generation": 4, "beta": 0.1}
        run, logs = metered(model, tmp_path / str(masked), moved=True, max_steps=1, **settings)
        assert 0 < run.state.log_history[0]["completions/clipped_ratio"] < 1
        found.append(logs[0])
    assert abs(found[0]["kl"]) > 1e-3
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def groups(rewards, rates):
    rewards, rates = torch.tensor(rewards), torch.tensor(rates)[:, None].expand(2, 4)
    return torch.stack([rewards, *torch.zeros(2, 2, 4), rates], dim=2).double()


def test_luck_is_that_of_prompts_whose_rate_rose_and_at_most_one_of_two_answers():
    found = _excess_by_noise(groups([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]], [0.3, 0.5]), 0.02, 8)
    assert found == pytest.approx(excess_by_noise(0.3, 0.75, valid=2, invalid=8, step=0.02, answers=8) / 2)
    with pytest.warns(SmallNoiseWarning):
        most = _excess_by_noise(groups([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]], [0.3, 0.3]), 50.0, 8)
    assert most == pytest.approx(0.75 * np.log(2), rel=1e-6)


@pytest.mark.parametrize("eta", [1e-4, 1e-2])
def test_on_logits_of_its_own_it_is_the_step(eta):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(12, generator=generator, dtype=torch.float64)
    answers = torch.multinomial(logits.softmax(0), 64, True, generator=generator).reshape(8, 8)
    verdicts = (answers < 5).double()
    advantages = verdicts - verdicts.mean(dim=1, keepdim=True)
    # Each group is a prompt with logits of its own; all have these.
    steps = torch.zeros(8, 12, dtype=torch.float64).scatter_add(1, answers, advantages)
    after = (logits + eta / 64 * steps).log_softmax(1).gather(1, answers)
    before = logits.log_softmax(0)[answers]
    # What all answers of a group gain, as under a baseline of one, is no step.
    for gains in (advantages, verdicts - 1):
        columns = torch.stack([gains, before, after], dim=2)
        assert _step_of(columns, answers[:, :, None]) == pytest.approx(eta, rel=0.02)


def test_without_anything_to_learn_there_is_no_step(model, tmp_path):
    run, _ = metered(model, tmp_path, {}, meter={"step": True}, reward=flat_reward, max_steps=2)
    assert not any(STEP in log for log in run.state.log_history)
