import numpy as np
import pytest
import torch
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS, trainer
from transformers import AutoModelForCausalLM

from dph_theory import alpha_divergence
from dph_theory.estimators import alpha_dpg_reward

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
WORDS = ["p0", "x", "y"]
EOS, PROMPT = 1, [3]
# Every completion of at most two tokens: <eos> ends one, the limit the others.
OUTCOMES = [[EOS], *([first, second] for first in (0, 2, 3, 4, 5) for second in range(6))]
VALID = np.array([len(outcome) == 2 and outcome[1] in (EOS, 4) for outcome in OUTCOMES])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return [tiny_llama(folder / str(seed), seed=seed, words=WORDS, hidden=16) for seed in (0, 1)]


def log_law(model):
    """Log-probabilities of all outcomes, (31,); they make a distribution."""
    return torch.stack([plain_log_probs(model, PROMPT, outcome).double().sum() for outcome in OUTCOMES])


@pytest.fixture
def enumerated(folders, tmp_path):
    """A trainer whose policy is not its reference, its batch of all outcomes, and both laws."""

    def make(**settings):
        run = trainer(
            folders[0],
            tmp_path,
            prompts=["p0"] * 4,
            loss_type="luspo",
            importance_sampling_level="sequence",
            gradient_accumulation_steps=1,
            max_completion_length=2,
            **settings,
        )
        other = AutoModelForCausalLM.from_pretrained(folders[1], dtype=torch.float32)
        run.model.load_state_dict(other.state_dict())
        run.model.train()
        # Set by the training loop, which these tests do without.
        run.current_gradient_accumulation_steps = 1
        ref = AutoModelForCausalLM.from_pretrained(folders[0], dtype=torch.float32)
        with torch.no_grad():
            laws = log_law(run.model).exp(), log_law(ref).exp()
        batch = {
            "prompt_ids": torch.tensor([PROMPT] * 31),
            "prompt_mask": torch.ones(31, 1, dtype=torch.long),
            "completion_ids": torch.tensor([[*outcome, 0][:2] for outcome in OUTCOMES]),
            "completion_mask": torch.tensor([[1, len(outcome) - 1] for outcome in OUTCOMES]),
            "num_items_in_batch": torch.tensor(61),
        }
        run.verdicts.last = (["p0"] * 31, torch.tensor(VALID.astype(float)))
        return run, run.reference.with_log_probs(batch), *laws

    return make


def descended(run, samples, advantages, law):
    """What the trainer's loss descends in expectation: each outcome weighed by its probability."""
    run.model.zero_grad()
    # The loss is the mean over 31 rows.
    weighed = (31 * law * advantages).float()
    run.compute_loss(run.model, {**samples, "advantages": weighed}).backward()
    return {name: value.grad.clone() for name, value in run.model.named_parameters()}


def agree(found, expected):
    largest = max(grad.abs().max() for grad in expected.values())
    gaps = {name: ((found[name] - expected[name]).abs().max() / largest).item() for name in expected}
    return max(gaps.values()) < 2e-5


def exact(run, objective):
    """The gradient of an objective of the policy's law, by automatic differentiation of the enumeration."""
    run.model.zero_grad()
    objective(log_law(run.model)).backward()
    return {name: value.grad.clone() for name, value in run.model.named_parameters()}


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_alpha_dpg_descends_the_divergence_to_the_filtered_model(enumerated, alpha, monkeypatch):
    run, samples, law, ref = enumerated(online="alpha_dpg", alpha=alpha)
    assert law.sum().item() == pytest.approx(1, abs=1e-5)
    rate = ref[VALID].sum().item()
    run.base_rates = {"p0": rate}
    monkeypatch.setattr(run, "_centred", lambda rewards: rewards)
    rewards = run._alpha_dpg(samples)
    normalised = law.numpy() / law.sum().item(), ref.numpy() / ref.sum().item()
    np.testing.assert_allclose(rewards, alpha_dpg_reward(*normalised, VALID, alpha), rtol=1e-4)
    valid, target = torch.tensor(VALID), ref / rate

    def divergence(log_pi):
        # D_f(pi || p_*): f on the valid outcomes, and f'(inf) = 1/alpha times the mass on the others.
        pi = log_pi.exp()
        u = (pi / target)[valid]
        if alpha == 1:
            f = -u.log() + u - 1
        else:
            f = (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))
            assert torch.allclose(f, torch.tensor(alpha_divergence(alpha).generator(u.detach().numpy())))
            # Without a slope at 1, as f stands, the slope at infinity is 1/alpha.
        return (target[valid] * f).sum() + pi[~valid].sum() / alpha

    assert agree(descended(run, samples, rewards, law), exact(run, divergence))
    # Another alpha is another gradient.
    monkeypatch.setattr(run.args, "alpha", alpha + 0.5)
    assert not agree(descended(run, samples, run._alpha_dpg(samples), law), exact(run, divergence))


def test_sequence_kl_ascends_validity_less_beta_kl(enumerated, monkeypatch):
    run, samples, law, ref = enumerated(online="sequence_kl", online_coefficient=0.3)
    monkeypatch.setattr(run, "_centred", lambda rewards: rewards)
    advantages = run._sequence_kl(samples)

    def objective(log_pi):
        pi = log_pi.exp()
        return -pi[torch.tensor(VALID)].sum() + 0.3 * (pi * (log_pi - ref.log())).sum()

    assert agree(descended(run, samples, advantages, law), exact(run, objective))


@pytest.mark.parametrize(
    "settings", [{"divergence": "forward_kl"}, {"divergence": "alpha", "alpha": 0.2}], ids=str
)
def test_the_definition_form_descends_the_divergence_between_first_tokens(enumerated, settings):
    run, samples, _, _ = enumerated(online="definition", online_coefficient=0.7, **settings)
    # At the first token all policies stand at the same prefix: there the sum over tokens is the divergence.
    firsts = [OUTCOMES.index([EOS]), *(OUTCOMES.index([first, 0]) for first in (0, 2, 3, 4, 5))]
    mask = torch.tensor([[1, 0]] * 6)
    part = {name: value[firsts] for name, value in samples.items() if value.ndim}
    part |= {"completion_mask": mask, "advantages": torch.zeros(6), "num_items_in_batch": torch.tensor(6)}
    advantages = run._definition(part)
    assert advantages[:, 1].tolist() == [0] * 6
    law, ref = (part[f"{name}_per_token_logps"][:, 0].double().exp() for name in ("old", "ref"))
    assert law.sum().item() == pytest.approx(1, abs=1e-5)
    run.model.zero_grad()
    weighed = (6 * law[:, None] * advantages).float()
    run.compute_loss(run.model, {**part, "advantages": weighed}).backward()
    found = {name: value.grad.clone() for name, value in run.model.named_parameters()}

    def divergence(pi):
        u = pi / ref
        f = -u.log() if "alpha" not in settings else (u**0.8 - 0.8 * u - 0.2) / (0.2 * -0.8)
        return 0.7 * (ref * f).sum()

    run.model.zero_grad()
    logits = run.model(input_ids=torch.tensor([PROMPT])).logits[0, -1].double()
    divergence(logits.softmax(dim=0)[[EOS, 0, 2, 3, 4, 5]]).backward()
    assert agree(found, {name: value.grad for name, value in run.model.named_parameters()})


def test_a_constant_baseline_is_taken_from_the_verdicts_alone(enumerated):
    run, samples, _, _ = enumerated(
        online="sequence_kl", online_coefficient=0.3, baseline="one", scale_rewards="none"
    )
    run.verdicts.last = (["p0"] * 28, torch.tensor(VALID[:28].astype(float)))
    some = {name: value[:28] for name, value in samples.items() if value.ndim}
    found = run._sequence_kl(some)
    run.args.baseline = "mean"
    mean = run._sequence_kl(some)
    verdicts = torch.tensor(VALID[:28].astype(float)).unflatten(0, (-1, 4))
    others = (verdicts.sum(dim=1, keepdim=True) - verdicts) / 3
    torch.testing.assert_close(found - mean, (others - 1).flatten(), check_dtype=False)


@pytest.mark.parametrize(("baseline", "taken"), [("one", 1.0), ("none", 0.0)])
def test_without_a_penalty_a_constant_baseline_is_all_that_is_subtracted(folders, tmp_path, baseline, taken):
    seen = []
    run = trainer(
        folders[0], tmp_path, prompts=["p0", "x"], baseline=baseline, scale_rewards="none", max_steps=1
    )
    compute = run.compute_loss
    run.compute_loss = lambda model, inputs, **rest: (
        seen.extend(inputs["advantages"].tolist()) or compute(model, inputs, **rest)
    )
    run.train()
    rewards = run.verdicts.last[1].tolist()
    assert sorted(seen) == pytest.approx(sorted(reward - taken for reward in rewards))


def coefficients(folder, output, bound, base_rate=0.5):
    settings = {"online": "sequence_kl", "online_coefficient": 0.1, "online_from": 1.0, "excess_bound": bound}
    rates = {"p0": base_rate, "x": base_rate}
    run = trainer(folder, output, prompts=["p0", "x"], base_rates=rates, learning_rate=1e-3, **settings)
    run.train()
    return [log["online/beta"] for log in run.state.log_history if "online/beta" in log], run


def test_beta_falls_geometrically_and_only_under_its_bound(folders, tmp_path):
    falling, _ = coefficients(folders[0], tmp_path / "free", None)
    assert falling == pytest.approx([1.0, 10**-0.5, 0.1, 0.1])
    wide, _ = coefficients(folders[0], tmp_path / "wide", 1e6)
    assert wide == pytest.approx(falling)
    # A base rate that the policy is far below: the excess KL of not knowing it is above any small bound.
    held, run = coefficients(folders[0], tmp_path / "held", 1e-9, base_rate=0.999)
    assert held[1] == 1.0 or run.carried["excess"] < 0
    assert len(set(held)) < len(set(falling)) or run.carried["excess"] < 0
