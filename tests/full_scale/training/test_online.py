import pytest
import torch
from support.tiny_llama import plain_log_probs, tiny_llama
from support.tiny_training import TRL_WARNS, distance, trainer
from transformers import AutoModelForCausalLM

from dph_theory.losses import group_advantages

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
WORDS = ["p0", "x", "y"]
EOS, PROMPT = 1, [3]
# Every completion of at most two tokens: <eos> ends one, the limit the others.
OUTCOMES = [[EOS], *([first, second] for first in (0, 2, 3, 4, 5) for second in range(6))]
VALID = torch.tensor([len(outcome) == 2 and outcome[1] in (EOS, 4) for outcome in OUTCOMES])


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
        settings |= {"loss_type": "luspo", "importance_sampling_level": "sequence"}
        settings |= {"gradient_accumulation_steps": 1, "max_completion_length": 2}
        run = trainer(folders[0], tmp_path, prompts=["p0"] * 4, **settings)
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
        run.verdicts.last = (["p0"] * 31, VALID.double())
        return run, run.reference.with_log_probs(batch), *laws

    return make


def gradient(run, loss):
    run.model.zero_grad()
    loss.backward()
    return {name: value.grad.clone() for name, value in run.model.named_parameters()}


def gap(run, samples, advantages, law, objective):
    """Between what the trainer's loss descends in expectation, each outcome weighed by its probability, and
    the gradient of an objective by automatic differentiation of the enumeration.
    """
    # The loss is the mean over the rows.
    weighed = (len(law) * law * advantages).float()
    descended = gradient(run, run.compute_loss(run.model, {**samples, "advantages": weighed}))
    return distance(gradient(run, objective), descended)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_alpha_dpg_descends_the_divergence_to_the_filtered_model(enumerated, alpha, monkeypatch):
    run, samples, law, ref = enumerated(online="alpha_dpg", alpha=alpha)
    assert law.sum().item() == pytest.approx(1, abs=1e-5)
    run.base_rates = {"p0": ref[VALID].sum().item()}
    monkeypatch.setattr(run, "_less_baseline", lambda rewards: rewards)

    def divergence(log_pi):
        # D_f(pi || p_*): f on the valid outcomes, and f'(inf) = 1/alpha times the mass on the others.
        pi, target = log_pi.exp(), ref[VALID] / run.base_rates["p0"]
        u = pi[VALID] / target
        # Without a slope at 1, as f stands, the slope at infinity is 1/alpha.
        power = (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1) or 1)
        return (target * (-u.log() + u - 1 if alpha == 1 else power)).sum() + pi[~VALID].sum() / alpha

    assert gap(run, samples, run._alpha_dpg(samples), law, divergence(log_law(run.model))) < 2e-5
    # Another alpha is another gradient.
    monkeypatch.setattr(run.args, "alpha", alpha + 0.5)
    assert gap(run, samples, run._alpha_dpg(samples), law, divergence(log_law(run.model))) > 1e-3


def test_sequence_kl_ascends_pass_rate_less_beta_kl(enumerated, monkeypatch):
    run, samples, law, ref = enumerated(online="sequence_kl", online_beta=0.3)
    monkeypatch.setattr(run, "_less_baseline", lambda rewards: rewards)
    log_pi = log_law(run.model)
    objective = 0.3 * (log_pi.exp() * (log_pi - ref.log())).sum() - log_pi[VALID].exp().sum()
    assert gap(run, samples, run._sequence_kl(samples), law, objective) < 2e-5


@pytest.mark.parametrize(
    "settings", [{"divergence": "forward_kl"}, {"divergence": "alpha", "alpha": 0.2}], ids=str
)
def test_the_definition_form_descends_the_divergence_between_first_tokens(enumerated, settings):
    run, samples, _, _ = enumerated(rehearsal_form="definition", eta=0.7, **settings)
    # At the first token all policies stand at the same prefix: there the sum over tokens is the divergence.
    first = [EOS, 0, 2, 3, 4, 5]
    rows = [next(i for i, outcome in enumerate(OUTCOMES) if outcome[0] == token) for token in first]
    part = {name: value[rows] for name, value in samples.items() if value.ndim}
    part |= {"completion_mask": torch.tensor([[1, 0]] * 6), "num_items_in_batch": torch.tensor(6)}
    advantages = run._definition({**part, "advantages": torch.zeros(6)})
    assert advantages[:, 1].tolist() == [0] * 6
    law, ref = (part[f"{name}_per_token_logps"][:, 0].double().exp() for name in ("old", "ref"))
    assert law.sum().item() == pytest.approx(1, abs=1e-5)
    logits = run.model(input_ids=torch.tensor([PROMPT])).logits[0, -1].double()
    u = logits.softmax(dim=0)[first] / ref
    f = -u.log() if "alpha" not in settings else (u**0.8 - 0.8 * u - 0.2) / (0.2 * -0.8)
    assert gap(run, part, advantages, law[:, None], 0.7 * (ref * f).sum()) < 2e-5


def test_a_constant_baseline_is_taken_from_the_verdicts_alone(enumerated):
    settings = {"baseline": "one", "scale_rewards": "none"}
    run, samples, _, _ = enumerated(online="sequence_kl", online_beta=0.3, **settings)
    run.verdicts.last = (["p0"] * 28, VALID[:28].double())
    some = {name: value[:28] for name, value in samples.items() if value.ndim}
    found = run._sequence_kl(some)
    run.args.baseline = "mean"
    mean = run._sequence_kl(some)
    verdicts = VALID[:28].double().unflatten(0, (-1, 4))
    others = (verdicts.sum(dim=1, keepdim=True) - verdicts) / 3
    torch.testing.assert_close(found - mean, (others - 1).flatten(), check_dtype=False)


def advantages_of_a_step(folder, output, **settings):
    """A trainer after one step of groups of two prompts, and the advantages in it."""
    seen, compared = [], {"scale_rewards": "none", "max_steps": 1, "prompts": ["p0", "x"]}
    run = trainer(folder, output, **compared, **settings)
    compute = run.compute_loss
    run.compute_loss = lambda model, inputs, **rest: (
        seen.extend(inputs["advantages"].tolist()) or compute(model, inputs, **rest)
    )
    run.train()
    return run, sorted(seen)


@pytest.mark.parametrize(("baseline", "taken"), [("one", 1.0), ("none", 0.0)])
def test_without_a_penalty_a_constant_baseline_is_all_that_is_subtracted(folders, tmp_path, baseline, taken):
    run, advantages = advantages_of_a_step(folders[0], tmp_path, baseline=baseline)
    assert advantages == pytest.approx(sorted(reward - taken for reward in run.verdicts.last[1].tolist()))


def test_advantages_divided_by_the_mean_are_maxrl_s(folders, tmp_path):
    run, advantages = advantages_of_a_step(folders[0], tmp_path, divided_by_mean=True)
    rewards = run.verdicts.last[1].double().unflatten(0, (-1, run.num_generations))
    expected = group_advantages(rewards, divided_by="mean").flatten()
    assert expected.abs().max() > 0
    assert advantages == pytest.approx(sorted(expected.tolist()), rel=1e-6)


def test_advantages_weighed_by_counted_pass_rates_count_their_own_groups(folders, tmp_path):
    rates = {"p0": 0.25, "x": 0.5}
    settings = {"rate_power": 1.0, "base_rates": rates, "rate_samples": 8}
    run, advantages = advantages_of_a_step(folders[0], tmp_path, **settings)
    keys, rewards = run.verdicts.last
    rewards = rewards.double().unflatten(0, (-1, run.num_generations))
    expected = []
    for key, group in zip(keys[:: run.num_generations], rewards, strict=True):
        correct = 0.8 * 8 * rates[key] + group.sum()
        answers = 0.8 * 8 + run.num_generations
        expected += ((group - group.mean()) * answers / correct).tolist()
        assert run.carried[f"correct {key}"] == pytest.approx(correct.item())
        assert run.carried[f"answers {key}"] == pytest.approx(answers)
    assert advantages == pytest.approx(sorted(expected), rel=1e-6)
    with pytest.raises(ValueError, match=r"base_rates\['(p0|x)'\]=None"):
        advantages_of_a_step(folders[0], tmp_path / "unknown", rate_power=0.5)


def coefficients(folder, output, bound, base_rate=0.5):
    settings = {"online": "sequence_kl", "online_beta": 0.1, "beta_from": 1.0, "excess_bound": bound}
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
