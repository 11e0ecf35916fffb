import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.tiny_styles_base import SETTINGS, base, rehearsed

from dph_theory import mu_from_beta
from dph_theory.losses import METHODS, alpha_dpg_rewards, group_advantages
from toy_lm.styles import StylesConfig, run
from toy_lm.styles import train as training
from toy_lm.styles.samples import draw, presample, stream
from toy_lm.styles.train import (
    TrainingSettings,
    Variant,
    coefficient,
    descend,
    judge,
    objective,
    pretrain,
    train,
)
from toy_lm.styles.transformer import exact_distribution, pass_rates, token_log_probs

RATES = np.array([0.1, 0.3, 0.6])


def test_strength_is_the_coefficient_times_the_curvature_and_without_one_a_method_is_as_published():
    for name in ("DPH-F", "DPH-JS", "DPH-alpha"):
        how = Variant(name, strength=0.3).method(RATES).rehearsal
        assert how.eta * how.divergence.curvature == pytest.approx(0.3, abs=1e-15)
    # Jensen-Shannon's is one half.
    assert coefficient(Variant("DPH-JS", strength=0.3).method(RATES)) == pytest.approx(0.6, abs=1e-15)
    for name in ("RKL", "GRPO", "reverse"):
        assert coefficient(Variant(name, strength=0.7).method(RATES)) == 0.7
    assert {name: Variant(name).method(RATES) for name in METHODS} == METHODS


def test_the_beta_of_kl_control_predicts_its_target():
    beta = coefficient(Variant("KL control", mu=0.8).method(RATES))
    # The example of `many_prompts.increasing`.
    assert beta == pytest.approx(0.38622661634118, abs=1e-13)
    assert mu_from_beta(RATES, beta).mean() == pytest.approx(0.8, abs=1e-13)


def test_labels_tell_variants_apart_and_places_are_said_even_when_not_asked():
    given = [
        ({"name": "DPH-F", "strength": 0.3}, "DPH-F 0.3", "rehearsed"),
        ({"name": "DPH-F", "strength": 0.3, "place": "all"}, "DPH-F 0.3 all", "all"),
        ({"name": "DPH-F"}, "DPH-F", "rehearsed"),
        ({"name": "reverse", "strength": 0.1}, "reverse 0.1", "rehearsed"),
        ({"name": "GRPO"}, "GRPO", "explored"),
        ({"name": "RKL"}, "RKL", "explored"),
        ({"name": "KL control", "mu": 0.5}, "KL control mu=0.5", "explored"),
        ({"name": "alpha-DPG", "alpha": 0.5}, "alpha-DPG alpha=0.5", "explored"),
    ]
    for changes, label, place in given:
        variant = Variant(**changes)
        assert (variant.label, variant.place) == (label, place)
        assert variant == Variant(**changes | {"place": place})


@pytest.mark.parametrize(("made", "message"), [
    (lambda: Variant("PPO"), "method='PPO' is not allowed: one of GRPO, DAPO"),
    (lambda: Variant("DPH-F", place="explored"), "place='explored' .* for DPH-F one of rehearsed"),
    (lambda: Variant("RKL", place="all"), "for RKL one of explored"),
    (lambda: Variant("DAPO", strength=0.1), "strength=0.1 is not allowed: for DAPO None"),
    (lambda: Variant("RKL", strength=-0.1), "at least 0"),
    (lambda: Variant("KL control"), "mu=None is not allowed: for KL control a number in"),
    (lambda: Variant("KL control", mu=1.0), "mu=1.0"),
    (lambda: Variant("KL control", mu=0.5, strength=1.0), "for KL control None"),
    (lambda: Variant("KL control", mu=0.2).method(RATES), r"mu=0\.2 is not allowed"),
    (lambda: Variant("GRPO", mu=0.5), "mu=0.5 is not allowed: for GRPO None"),
    (lambda: Variant("alpha-DPG"), "alpha=None"), (lambda: Variant("DAPO", alpha=0.5), "for DAPO None"),
    (lambda: TrainingSettings(group=1), "group=1 is not allowed"),
    (lambda: TrainingSettings(minibatches=0), "minibatches=0"),
    (lambda: TrainingSettings(rate=float("inf")), "rate=inf"),
    (lambda: TrainingSettings(style_shares=(0.5, 0.5)), "style_shares=.* 5 items"),
    (lambda: TrainingSettings(style_shares=(0.5, 0.5, 0.0, 0.1, 0.1)), "style_shares=0"),
    (lambda: last(Variant("DAPO"), updates=6), "updates=6 is not allowed: whole rounds of 4"),
    (lambda: presample(base()[2], base()[0], presamples=200, stored=4, seed=0),
     "presamples=200 is not allowed: fewer"),
])  # fmt: skip
def test_what_is_not_allowed_is_named(made, message):
    with pytest.raises(ValueError, match=message):
        made()


def last(variant, updates=4, seed=0):
    task, model, _ = base()
    *_, (_, law) = train(model, task, variant, SETTINGS, updates=updates, seed=seed)
    return law.joint()


def explored():
    """A policy some way from the base, samples of the base, DAPO's advantages, and the rows that it keeps."""
    task, model, law = base()
    policy = copy.deepcopy(model)
    with torch.no_grad():
        for p in policy.parameters():
            p.add_(0.02 * torch.randn(p.shape, generator=stream(0, "perturb")))
    samples = draw(law, law, task, task.train[:40].repeat_interleave(4), stream(0, "explore"))
    advantages, kept = judge(samples, pass_rates(law, task), METHODS["DAPO"], Variant("DAPO"), 4)
    return policy, samples, advantages, kept


def gradient(loss, model):
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


def loss_of(method, policy, samples, advantages, kept, anchors=None):
    return objective(policy, base()[0], method, samples.at(kept), advantages[kept], anchors)


def by_hand(policy, samples, advantages, kept):
    """DAPO's surrogate written out, and the log-probabilities it is made of."""
    log_pi = token_log_probs(policy, base()[0].prompts[samples.prompts], samples.responses).double()
    ratio = (log_pi - samples.log_old).exp()
    gain = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.28) * advantages[:, None])
    return -gain[kept].mean(), log_pi


def test_the_base_is_left_alone_and_the_law_is_of_the_prompts_trained_on_and_at_the_end_of_all():
    task, model, law = base()
    before = copy.deepcopy(model.state_dict())
    *laws, end = train(model, task, Variant("DAPO"), SETTINGS, updates=8, seed=0)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(laws[0][1].joint()[task.train], law.joint()[task.train])
    assert all(law.joint()[task.held_out].isnan().all() for _, law in laws)
    assert (end[0], bool(end[1].joint().isfinite().all())) == (8, True)


@pytest.mark.parametrize(
    "variant", [Variant("DAPO"), Variant("DPH-F", strength=0.3), Variant("RKL", strength=0.5)]
)
def test_the_objective_is_the_clipped_surrogate_and_the_anchor_of_the_method(variant):
    policy, samples, advantages, kept = explored()
    assert 0 < kept.sum() < len(kept)
    stored = rehearsed()[1] if variant.name == "DPH-F" else None
    loss = loss_of(variant.method([0.5]), policy, samples, advantages, kept, stored)
    expected, log_pi = by_hand(policy, samples, advantages, kept)
    ratio = (log_pi - samples.log_old).exp()
    assert ((ratio < 0.8) | (ratio > 1.28)).any()  # the clip acts
    if variant.name == "DPH-F":
        # Rehearsal adds eta times -log u on the stored samples.
        log_pi = token_log_probs(policy, base()[0].prompts[stored.prompts], stored.responses).double()
        expected = expected - 0.3 * (log_pi - stored.log_ref).mean()
    elif variant.name == "RKL":
        # The baseline adds k3 on the samples kept.
        behind = samples.log_ref - log_pi
        expected = expected + 0.5 * (behind.exp() - 1 - behind)[kept].mean()
    torch.testing.assert_close(loss, expected, atol=1e-9, rtol=1e-7)
    torch.testing.assert_close(gradient(loss, policy), gradient(expected, policy), atol=2e-6, rtol=1e-4)


def test_reverse_kl_on_samples_of_the_policy_has_the_exact_gradient_in_expectation():
    policy, samples, advantages, kept = explored()
    task, _, law = base()
    rows = task.train[:2].repeat_interleave(10_000)
    anchors = draw(exact_distribution(policy, task.prompts), law, task, rows, stream(0, "anchor"))
    method = Variant("reverse", strength=1.0).method([0.5])
    none = torch.zeros_like(kept)
    sampled = gradient(loss_of(method, policy, samples, advantages, none, anchors), policy)
    tokens = torch.arange(500)
    responses = torch.stack([tokens // 100, tokens // 10 % 10, tokens % 10], dim=1).repeat(2, 1)
    prompts = task.train[:2].repeat_interleave(500)
    log_pi = token_log_probs(policy, task.prompts[prompts], responses).double().sum(dim=1)
    exact = (log_pi.exp() * (log_pi - law.joint()[task.train[:2]].flatten())).sum() / 2
    # The loss is a mean over three tokens. The samples' error is about 4% at this size.
    expected = gradient(exact / 3, policy)
    assert (sampled - expected).norm() < 0.1 * expected.norm()


def test_strength_zero_is_exploration_alone_bit_for_bit():
    plain = last(Variant("DAPO"))
    for name in ("DPH-F", "DPH-JS", "DPH-alpha", "reverse", "RKL"):
        assert torch.equal(last(Variant(name, strength=0.0)), plain), name
    assert not torch.equal(last(Variant("DPH-F", strength=0.01)), plain)
    assert not torch.equal(last(Variant("DAPO"), seed=1), plain)


def test_rewards_of_kl_control_are_verdicts_minus_beta_times_the_log_ratio():
    task, _, law = base()
    _, samples, _, _ = explored()
    samples = samples._replace(log_ref=samples.log_ref - 0.1 * torch.arange(len(samples.valid))[:, None])
    variant = Variant("KL control", mu=0.6)
    rates = pass_rates(law, task)
    method = variant.method(rates.numpy())
    advantages, kept = judge(samples, rates, method, variant, 4)
    costs = (samples.log_old - samples.log_ref).sum(dim=1)
    rewards = (samples.valid.double() - method.penalty.coefficient * costs).view(-1, 4)
    others = (rewards.sum(dim=1, keepdim=True) - rewards) / 3
    torch.testing.assert_close(advantages, (rewards - others).flatten(), atol=1e-12, rtol=0)
    assert kept.all()


def test_rewards_of_alpha_dpg_are_those_of_the_losses():
    task, _, law = base()
    _, samples, _, _ = explored()
    variant, rates = Variant("alpha-DPG", alpha=0.5), pass_rates(law, task)
    advantages, _ = judge(samples, rates, variant.method(rates.numpy()), variant, 4)
    log_pi, log_ref, valid = samples.in_groups(4)
    rewards = alpha_dpg_rewards(log_pi, log_ref, valid, rates[task.train[:40]].log(), 0.5)
    expected = group_advantages(rewards, divided_by="none", baseline="leave_one_out")
    torch.testing.assert_close(advantages, expected.flatten())
    # On the base a right sample has ratio p_*/pi = 1/A1, so rarer solutions earn more.
    assert rewards[valid].max() > rewards[valid].min() > 0 > rewards[~valid].max() == -2


def test_dynamic_sampling_keeps_groups_that_disagree():
    _, samples, advantages, kept = explored()
    valid = samples.valid.view(-1, 4)
    assert torch.equal(kept.view(-1, 4)[:, 0], valid.any(dim=1) & ~valid.all(dim=1))
    assert (advantages.view(-1, 4)[~kept.view(-1, 4)] == 0).all()


def test_without_an_informative_group_nothing_moves():
    policy, samples, advantages, kept = explored()
    before = copy.deepcopy(policy.state_dict())
    loss = loss_of(METHODS["DAPO"], policy, samples, advantages, torch.zeros_like(kept))
    descend(torch.optim.Adam(policy.parameters(), lr=1.0), loss, 1.0)
    assert loss == 0
    assert all(torch.equal(before[name], value) for name, value in policy.state_dict().items())


def test_anchors_on_all_prompts_include_wrong_samples_and_others_than_rehearsed():
    task, _, law = base()
    places = {}
    for place in ("rehearsed", "all"):
        variant = Variant("DPH-F", place=place)
        anchors = training.anchoring(law, task, variant.method([0.5]), variant, SETTINGS, seed=0)
        places[place] = [anchors(law) for _ in range(10)]
    chosen = set(rehearsed()[0].tolist())
    assert all(s.valid.all() and set(s.prompts.tolist()) <= chosen for s in places["rehearsed"])
    assert not all(s.valid.all() for s in places["all"])
    assert not all(set(s.prompts.tolist()) <= chosen for s in places["all"])


def test_the_base_stops_where_it_should_and_leaves_the_global_random_numbers_alone():
    task, _, law = base()
    passed = pass_rates(law, task)[task.train].mean()
    assert SETTINGS.base_pass <= passed < SETTINGS.base_pass + 0.1
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match=r"base_pass=0\.9 is not allowed: 10 base_updates reach 0\.0"):
        pretrain(task, replace(SETTINGS, base_pass=0.9, base_updates=10), seed=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_steps_grow_to_their_full_length_over_the_warm_up(monkeypatch):
    task, model, _ = base()
    rates = []

    def spied(optimiser, loss, clip_norm):
        rates.append(optimiser.param_groups[0]["lr"])
        descend(optimiser, loss, clip_norm)

    monkeypatch.setattr(training, "descend", spied)
    settings = replace(SETTINGS, warm_up=5)
    list(train(model, task, Variant("DAPO"), settings, updates=8, seed=0))
    assert rates == pytest.approx([settings.rate * share for share in (0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1)])


@pytest.mark.slow
def test_without_an_anchor_styles_collapse_and_rehearsal_keeps_more_of_them():
    config = replace(StylesConfig.quick(), methods=("GRPO", "DAPO", "DPH-F"), updates=240, every=240, seeds=3)
    results = run(config, seed=0)["results"]
    sixteenth = results["k"].index(16)
    for start in results["bases"]:
        ends = {run["name"]: run["train"] for run in results["runs"] if run["seed"] == start["seed"]}
        ends["base"] = start["train"]
        at_16 = {name: end["pass_at_k"][sixteenth] for name, end in ends.items()}
        entropy = {name: end["style_entropy"] for name, end in ends.items()}
        assert entropy["DAPO"] < entropy["GRPO"] < 0.8 * entropy["base"]
        assert entropy["DPH-F"] > entropy["GRPO"] + 0.2
        assert at_16["DAPO"] < at_16["GRPO"] < at_16["base"] - 0.03
        assert at_16["DPH-F"] > at_16["GRPO"] + 0.03
        assert min(end["pass_at_k"][0] for end in ends.values()) == start["train"]["pass_at_k"][0]


def test_a_divergence_of_ones_own_is_rehearsed_and_a_broken_module_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    own = Variant("DPH:support.own_divergence:LE_CAM").method([0.5])
    assert own.rehearsal.divergence.name == "le_cam"
    assert own.rehearsal.eta == Variant("DPH-F").method([0.5]).rehearsal.eta
    for name, says in (
        ("DPH:broken_module:LE_CAM", r"divergence='broken_module:LE_CAM'.*ZeroDivisionError"),
        ("DPH:support.own_divergence:NONE", r"module:OBJECT, an FDivergence"),
        ("GRPO:le_cam:LE_CAM", r"method='GRPO:le_cam:LE_CAM' is not allowed: one of GRPO"),
    ):
        with pytest.raises(ValueError, match=says):
            Variant(name)
