import numpy as np
import pytest
import torch
from peft import LoraConfig
from support.tiny_llama import plain_log_probs, tiny_llama, tiny_tokenizer
from support.tiny_training import PROMPTS, TRL_WARNS, even_reward, same, trainer, weights
from transformers import AutoModelForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from dph_theory.dynamics import SmallNoiseWarning, excess_by_luck
from dph_theory.losses import excess_kl_estimate
from full_scale.models import versions
from full_scale.training.collapse_meter import CollapseMeter, _by_luck

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
RATES = dict(zip(PROMPTS, np.linspace(0.2, 0.9, 8).tolist(), strict=True))
PLAIN = {"kind": GRPOTrainer, "config": GRPOConfig}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")


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
    run = trainer(model, tmp_path, reward=watcher.reward, callbacks=[watcher], **PLAIN)
    CollapseMeter(RATES).attach(run)
    run.train()
    tokenizer, logs = tiny_tokenizer(), measured(run)
    policy, initial = (AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32) for _ in range(2))
    for step in (0, 3):
        policy.load_state_dict(watcher.weights[step])
        prompts, completions, rewards = watcher.sampled[step]
        with torch.no_grad():
            log_pi, log_ref = (
                torch.stack(
                    [
                        plain_log_probs(each, tokenizer(prompt)["input_ids"], ids).double().sum()
                        for prompt, ids in zip(prompts, completions, strict=True)
                    ]
                ).reshape(-1, 4)
                for each in (policy, initial)
            )
        rates = torch.tensor([RATES[prompt] for prompt in prompts[::4]]).double()
        expected = excess_kl_estimate(torch.tensor(rewards).reshape(-1, 4), log_pi, log_ref, rates)
        log = logs[step]
        assert log["excess_kl"] == pytest.approx(expected.mean.item(), abs=1e-5)
        assert log["excess_kl_se"] == pytest.approx(expected.mean_standard_error.item(), abs=1e-5)
        assert log["validity"] == pytest.approx(np.mean(rewards))
        assert log["kl"] == pytest.approx((log_pi - log_ref).mean().item(), abs=1e-5)
        assert log["cost"] + log["excess_kl"] == pytest.approx(log["kl"], abs=1e-12)
        assert log["groups_left_out"] == 0
    assert logs[0]["kl"] == pytest.approx(0, abs=1e-6)
    assert abs(logs[3]["kl"]) > 1e-3


def test_the_meter_changes_neither_weights_nor_random_numbers(model, tmp_path):
    runs = []
    for metered in (False, True):
        # A trainer seeds everything when it is made.
        runs.append(trainer(model, tmp_path / str(metered), **PLAIN))
        if metered:
            CollapseMeter(RATES).attach(runs[1])
        runs[-1].train()
    assert same(weights(runs[0]), weights(runs[1]))
    assert [len(log) for log in measured(runs[0])] == [0] * 4
    assert [len(log) for log in measured(runs[1])] == [6] * 4


def test_prompts_without_a_base_rate_are_left_out_and_counted(model, tmp_path):
    known = {prompt: RATES[prompt] for prompt in PROMPTS[:3]}
    run = trainer(model, tmp_path, **PLAIN)
    CollapseMeter(known, key="example_id").attach(run)
    run.train()
    left = [log["groups_left_out"] for log in measured(run)]
    # Two groups a step, each of the eight prompts once.
    assert sum(left) == 5
    assert ["validity" in log for log in measured(run)] == [count < 2 for count in left]


def test_every_second_batch_only(model, tmp_path):
    run = trainer(model, tmp_path, **PLAIN)
    CollapseMeter(RATES, every=2).attach(run)
    run.train()
    assert ["kl" in log for log in measured(run)] == [True, False, True, False]


@pytest.mark.parametrize("kind", ["adapter", "own reference"])
def test_the_references_at_hand_are_used(model, tmp_path, kind):
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    settings = {"peft_config": lora} if kind == "adapter" else {"beta": 0.05}
    run = trainer(model, tmp_path, learning_rate=0.1, **settings, **PLAIN)
    CollapseMeter(RATES).attach(run)
    run.train()
    kl = [log["kl"] for log in measured(run)]
    assert kl[0] == pytest.approx(0, abs=1e-5)
    assert max(map(abs, kl[1:])) > 1e-3


def test_another_version_of_trl_is_refused(model, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "_installed", lambda name: "2.0.0")
    run = trainer(model, tmp_path, **PLAIN)
    with pytest.raises(RuntimeError, match=r"found trl 2\.0\.0"):
        CollapseMeter(RATES).attach(run)


def test_what_cannot_be_measured_is_named(model, tmp_path):
    for rate in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="base_rates"):
            CollapseMeter({"p0": rate})
    with pytest.raises(ValueError, match="every"):
        CollapseMeter(RATES, every=0)
    several = trainer(model, tmp_path, reward=[even_reward, length_reward], **PLAIN)
    with pytest.raises(ValueError, match=r"verdict=None.*'even_reward', 'length_reward'"):
        CollapseMeter(RATES).attach(several)


def length_reward(completions, **columns):
    return [float(len(text)) for text in completions]


def test_of_several_rewards_the_named_verdict_is_measured(model, tmp_path):
    rewards = [length_reward, even_reward]
    run = trainer(model, tmp_path, reward=rewards, reward_weights=[0.1, 1.0], **PLAIN)
    CollapseMeter(RATES, verdict="even_reward").attach(run)
    run.train()
    logs = [log for log in run.state.log_history if "loss" in log]
    for log in logs:
        assert log["collapse/validity"] == pytest.approx(log["rewards/even_reward/mean"])
        assert log["collapse/validity"] != pytest.approx(log["reward"])


def test_completions_that_trl_masks_are_measured_all_the_same(model, tmp_path):
    """At the first step, with the same samples, the measures agree; TRL masks those that are cut off."""
    logs = []
    for masked in (False, True):
        settings = {"mask_truncated_completions": masked, "steps_per_generation": 4, "beta": 0.1, **PLAIN}
        run = trainer(model, tmp_path / str(masked), **settings)
        _moved(run.ref_model)
        CollapseMeter(RATES).attach(run)
        run.train()
        assert 0 < run.state.log_history[0]["completions/clipped_ratio"] < 1
        logs.append(measured(run)[0])
    assert abs(logs[0]["kl"]) > 1e-3
    assert logs[0] == pytest.approx(logs[1], abs=1e-6)


def _moved(reference):
    """Another reference than the policy: where both are one, every KL is 0 whatever is masked."""
    with torch.no_grad():
        next(iter(reference.parameters())).mul_(1.5)


def test_with_a_measured_step_luck_stands_beside_what_was_lost(model, tmp_path, caplog):
    run = trainer(model, tmp_path, **PLAIN)
    CollapseMeter(RATES, step=True).attach(run)
    run.train()
    assert caplog.text.count("collapse/by_luck is an upper bound: the noise is not small") == 1
    logs = measured(run)
    # The first batch is measured before any step has been.
    assert "by_luck" not in logs[0]
    assert any(log.get("by_luck", -1) >= 0 for log in logs[1:])


def test_luck_is_that_of_prompts_whose_rate_rose():
    rewards = torch.tensor([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    rates = torch.tensor([0.3, 0.5])
    groups = torch.stack([rewards, *torch.zeros(2, 2, 4), rates[:, None].expand(2, 4)], dim=2).double()
    setting = {"valid": 2, "invalid": 8, "step": 0.02, "answers": 8}
    wanted = float(excess_by_luck(0.3, 0.75, **setting)) / 2
    assert _by_luck(groups, 0.02, 8) == pytest.approx(wanted, rel=1e-6)


def test_luck_is_never_more_than_the_loss_of_one_of_two_answers():
    rewards = torch.tensor([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    rates = torch.full((2, 4), 0.3)
    groups = torch.stack([rewards, torch.zeros(2, 4), torch.zeros(2, 4), rates], dim=2).double()
    with pytest.warns(SmallNoiseWarning):
        assert _by_luck(groups, 50.0, 8) == pytest.approx(0.75 * np.log(2), rel=1e-6)


@pytest.mark.parametrize(("settings", "passes"), [({}, 2), ({"step": True}, 3)])
def test_a_measured_batch_costs_as_many_forward_passes_as_are_documented(model, tmp_path, settings, passes):
    counted = []
    for metered in (False, True):
        run = trainer(model, tmp_path / str(metered), max_steps=2, **PLAIN)
        if metered:
            CollapseMeter(RATES, **settings).attach(run)
        helper, calls = run._get_per_token_logps_and_entropies, []

        def counting(of, ids, *args, helper=helper, calls=calls, **named):
            calls.append(len(ids))
            return helper(of, ids, *args, **named)

        run._get_per_token_logps_and_entropies = counting
        run.train()
        counted.append(sum(calls))
    # Two batches of eight answers.
    assert counted[1] - counted[0] == 2 * 8 * passes
