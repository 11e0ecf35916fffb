import numpy as np
import pytest
import torch
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS, trainer
from trl import GRPOConfig, GRPOTrainer

from dph_theory import mu_from_beta
from dph_theory.losses import METHODS as LOSSES
from dph_theory.losses import Exploration, kl_penalty, ppo_clip_loss
from full_scale.recipe.methods import METHODS, exploration_arguments, setup
from full_scale.recipe.schema import MethodConfig
from full_scale.training.online import OnlineConfig

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
RATES = [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_a_configuration_of_the_trainer(name, tmp_path):
    found = setup(MethodConfig(name=name), RATES)
    args = OnlineConfig(
        output_dir=str(tmp_path), use_cpu=True, bf16=False, num_generations=2, **found.arguments
    )
    assert found.rehearses == name.startswith("DPH")
    assert (args.eta > 0) == found.rehearses
    assert (args.beta > 0) == (name in ("GRPO-KL", "RKL", "KL-control"))
    assert args.use_bias_correction_kl == (name not in ("GRPO-KL", "RKL"))
    assert args.epsilon_high == (0.2 if name in ("GRPO", "GRPO-KL") else 0.28)


def test_the_rehearsals_are_those_of_the_losses():
    for name in ("DPH-F", "DPH-JS", "DPH-alpha"):
        declared, found = LOSSES[name].rehearsal, setup(MethodConfig(name=name, rehearsal_rows=7)).arguments
        assert found["eta"] == declared.eta
        assert found["gauge"] == declared.gauge
        assert found["rehearsal_reduction"] == declared.reduction
        assert found["rehearsal_rows"] == 7
    assert setup(MethodConfig(name="DPH-alpha")).arguments["alpha"] == 0.2
    assert setup(MethodConfig(name="DPH-JS")).arguments["divergence"] == "jensen_shannon"
    changed = MethodConfig(name="DPH-alpha", eta=0.3, alpha=0.7, gauge="normalised", two_backward=True)
    found = setup(changed).arguments
    assert [found[key] for key in ("eta", "alpha", "gauge", "two_backward")] == [0.3, 0.7, "normalised", True]


def test_the_definition_form_needs_no_buffer_and_says_where_it_measures():
    found = setup(MethodConfig(name="DPH-JS", form="definition", eta=0.4))
    assert not found.rehearses
    assert found.arguments["online"] == "definition"
    assert found.arguments["online_coefficient"] == 0.4
    assert any("policy's own samples" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "field"), [("KL-control", "beta"), ("KL-control-sequence", "online_coefficient")]
)
def test_a_target_validity_gives_the_beta_whose_mean_it_is(name, field):
    found = setup(MethodConfig(name=name, mu=0.6), RATES)
    beta = found.arguments[field]
    assert np.mean([0.0, *(mu_from_beta(rate, beta) for rate in RATES[1:])]) == pytest.approx(0.6, abs=1e-12)
    assert f"{beta:.6g}" in found.notes[0]
    assert "1 with no correct rollout" in found.notes[0]
    assert "0 with none wrong" in found.notes[0]
    with pytest.raises(ValueError, match=r"mu=0\.8 .*one beta reaches mean validities"):
        setup(MethodConfig(name=name, mu=0.8), RATES)
    with pytest.raises(ValueError, match="pre-sample first"):
        setup(MethodConfig(name=name, mu=0.6))


def test_what_dapo_does_not_do_here_is_said():
    assert any("Dynamic sampling is not done" in note for note in setup(MethodConfig(name="DAPO")).notes)
    assert not any("Dynamic" in note for note in setup(MethodConfig(name="GRPO")).notes)
    assert any("deviation" in note for note in setup(MethodConfig(name="GRPO")).notes)
    assert not any("deviation" in note for note in setup(MethodConfig(name="alpha-DPG")).notes)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": "PPO"}, r"method\.name='PPO'.*DPH-JS"),
        ({"name": "GRPO", "eta": 0.1}, r"method\.eta.*only DPH"),
        ({"name": "GRPO", "beta": 0.1}, r"method\.beta.*GRPO-KL"),
        ({"name": "RKL", "mu": 0.5}, r"method\.mu.*KL control"),
        ({"name": "DPH-F", "alpha": 0.5}, r"method\.alpha"),
        ({"name": "DAPO", "gauge": "normalised"}, r"method\.gauge"),
        ({"name": "GRPO", "form": "definition"}, r"method\.form"),
        ({"name": "KL-DPG", "alpha": 0.5}, "alpha-DPG"),
    ],
)
def test_what_a_method_has_no_place_for_is_refused(change, named):
    with pytest.raises(ValueError, match=named):
        setup(MethodConfig(**change), RATES)


def test_a_baseline_leaves_advantages_undivided_and_says_so():
    found = setup(MethodConfig(name="GRPO", baseline="one"))
    assert (found.arguments["baseline"], found.arguments["scale_rewards"]) == ("one", "none")
    assert any("not divided" in note for note in found.notes)
    assert not any("sample deviation" in note for note in found.notes)


def test_a_falling_beta_is_that_of_the_kl_in_the_reward():
    falling = MethodConfig(name="KL-control-sequence", beta=0.1, beta_from=1.0, excess_bound=0.2)
    found = setup(falling).arguments
    assert [found[name] for name in ("online_coefficient", "online_from", "excess_bound")] == [0.1, 1.0, 0.2]
    for name in ("GRPO-KL", "KL-control"):
        with pytest.raises(ValueError, match=r"method.beta_from=1.0 is not allowed"):
            setup(MethodConfig(name=name, beta_from=1.0))
    with pytest.raises(ValueError, match=r"method.baseline='one' is not allowed"):
        setup(MethodConfig(name="alpha-DPG", baseline="one"))


def test_a_gauge_that_is_none_is_refused_with_the_recipe():
    with pytest.raises(ValueError, match="gauge"):
        MethodConfig(name="DPH-F", gauge="printedd")


def test_explorations_that_trl_cannot_do_are_refused():
    for change in ({"level": "sequence"}, {"reduction": "sum"}, {"dual_clip": 1.1}):
        with pytest.raises(ValueError, match=next(iter(change))):
            exploration_arguments(
                Exploration(**{"clip_low": 0.2, "clip_high": 0.2, "reduction": "token_mean", **change})
            )


def trl_loss(model, folder, arguments, batch):
    run = trainer(
        model, folder, kind=GRPOTrainer, config=GRPOConfig, gradient_accumulation_steps=1, **arguments
    )
    run.model.train()
    # Set by the training loop, which this test does without.
    run.current_gradient_accumulation_steps = 1
    leaf = run._get_per_token_logps_and_entropies(
        run.model,
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1),
        batch["completion_ids"].shape[1],
    )[0]
    # Ratios to both sides of every clip, under advantages of both signs.
    log_ratio = torch.tensor([[0.5, -0.5, 0.1, 0.25], [0.5, -0.5, 0, 0], [1.0, 0, 0, 0], [1.0, 0.1, -0.4, 0]])
    old, ref = leaf.detach() - log_ratio, leaf.detach() + log_ratio.flip(0)
    stored = {"old_per_token_logps": old, "ref_per_token_logps": ref}
    loss = run.compute_loss(run.model, {**batch, **stored})
    return loss.item(), leaf.detach(), old, ref


def example_batch():
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]])
    return {
        "prompt_ids": torch.tensor([[3], [4], [5], [6]]),
        "prompt_mask": torch.ones(4, 1, dtype=torch.long),
        "completion_ids": torch.tensor([[12, 13, 14, 1], [15, 1, 0, 0], [1, 0, 0, 0], [16, 17, 18, 0]]),
        "completion_mask": mask,
        "advantages": torch.tensor([1.0, -0.5, 0.75, -1.5]),
        "num_items_in_batch": mask.sum(),
    }


@pytest.mark.parametrize(
    "exploration",
    [
        LOSSES["GRPO"].exploration,
        LOSSES["DAPO"].exploration,
        Exploration(clip_low=0.1, clip_high=0.3, reduction="token_mean", dual_clip=1.35),
    ],
)
def test_trls_loss_is_that_of_the_theory_on_the_same_tensors(tmp_path, exploration):
    model, batch = tiny_llama(tmp_path / "model"), example_batch()
    loss, log_pi, old, _ = trl_loss(model, tmp_path, exploration_arguments(exploration)[0], batch)
    mask = batch["completion_mask"].bool()

    def expected(**change):
        names = ("clip_low", "clip_high", "dual_clip", "reduction")
        form = {name: getattr(exploration, name) for name in names} | change
        return ppo_clip_loss(log_pi, old, batch["advantages"], mask, **form).item()

    assert loss == pytest.approx(expected(), abs=2e-6)
    other = 1.35 if exploration.dual_clip is None else None
    for change in ({"clip_low": 0.5}, {"clip_high": 0.9}, {"dual_clip": other}):
        assert loss != pytest.approx(expected(**change), abs=2e-4)


@pytest.mark.parametrize("name", ["RKL", "KL-control", "GRPO-KL"])
def test_trls_penalty_is_that_of_the_theory_on_the_same_tensors(tmp_path, name):
    model, batch = tiny_llama(tmp_path / "model"), example_batch()
    batch["advantages"] = torch.zeros(4)
    arguments = dict(setup(MethodConfig(name=name, beta=0.5)).arguments)
    arguments.pop("two_backward")
    loss, log_pi, old, ref = trl_loss(model, tmp_path, arguments, batch)
    estimator = METHODS[name].penalty.estimator
    corrected = {"log_old": old} if estimator == "k3_corrected" else {}
    mask, reduction = batch["completion_mask"].bool(), METHODS[name].exploration.reduction
    penalty = kl_penalty(estimator, log_pi, ref, mask, reduction=reduction, **corrected).item()
    assert loss == pytest.approx(0.5 * penalty, abs=2e-6)
    assert penalty > 0.01
