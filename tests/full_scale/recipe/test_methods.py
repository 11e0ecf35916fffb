import re

import numpy as np
import pytest
import torch
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS, trainer
from trl import GRPOConfig, GRPOTrainer

from dph_theory import mu_from_beta
from dph_theory.divergences import named
from dph_theory.losses import METHODS as LOSSES
from dph_theory.losses import Exploration, kl_penalty, ppo_clip_loss
from dph_theory.support.errors import RefusedError
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
    assert args.eta == (METHODS[name].rehearsal.eta if found.rehearses else 0)
    assert (args.beta > 0) == (name in ("GRPO-KL", "RKL", "KL-control"))
    assert args.use_bias_correction_kl == (name not in ("GRPO-KL", "RKL"))
    assert args.epsilon_high == (0.2 if name in ("GRPO", "GRPO-KL", "MaxRL") else 0.28)


ALPHA = {"eta": 0.3, "alpha": 0.7, "gauge": "normalised", "two_backward": True, "rehearsal_rows": 7}
FALL = {"beta": 0.1, "beta_from": 1.0, "excess_bound": 0.2}
FALLING = {"online_beta": 0.1, "beta_from": 1.0, "excess_bound": 0.2}
DEFINED = {"rehearsal_form": "definition", "eta": 0.4}


@pytest.mark.parametrize(
    ("method", "found"),
    [
        ({"name": "DPH-alpha", **ALPHA}, ALPHA),
        ({"name": "DPH-JS", "rehearsal_form": "definition", "eta": 0.4}, DEFINED),
        ({"name": "KL-control-sequence", **FALL}, FALLING),
        ({"name": "GRPO", "baseline": "one"}, {"baseline": "one", "scale_rewards": "none"}),
    ],
)
def test_what_a_recipe_changes_in_a_method_reaches_the_trainer(method, found):
    given = setup(MethodConfig(**method)).arguments
    assert {name: given[name] for name in found} == found


@pytest.mark.parametrize(
    ("method", "train", "said"),
    [
        ({"name": "GRPO"}, {}, ["sample std"]),
        ({"name": "GRPO"}, {"scale_rewards": "none"}, []),
        ({"name": "GRPO", "baseline": "one"}, {}, ["not std-normalised"]),
        ({"name": "MaxRL"}, {}, []),
        ({"name": "DPH-F", "divided_by": "mean"}, {}, ["Dynamic"]),
        ({"name": "DPH-F", "rate_power": 0.5}, {}, ["Dynamic"]),
        ({"name": "DAPO"}, {}, ["sample std", "Dynamic sampling is not implemented"]),
        ({"name": "alpha-DPG"}, {}, []),
        ({"name": "DPH-F", "rehearsal_form": "released_forward"},
         {}, ["sample std", "Dynamic", "released code"]),
        ({"name": "DPH-JS", "rehearsal_form": "definition"}, {}, ["sample std", "Dynamic", "own samples"]),
    ],
)  # fmt: skip
def test_what_is_done_otherwise_than_published_is_said(method, train, said):
    notes = setup(MethodConfig(**method), train=train).notes
    assert len(notes) == len(said)
    assert all(words in note for words, note in zip(said, notes, strict=True))


@pytest.mark.parametrize(("name", "field"), [("KL-control", "beta"), ("KL-control-sequence", "online_beta")])
def test_a_target_pass_rate_gives_the_beta_whose_mean_it_is(name, field):
    found = setup(MethodConfig(name=name, mu=0.6), RATES)
    beta = found.arguments[field]
    assert np.mean([0.0, *(mu_from_beta(rate, beta) for rate in RATES[1:])]) == pytest.approx(0.6, abs=1e-12)
    said = f"beta = {beta:.6g} .*; 1 with no correct rollout .* and 0 with none wrong"
    assert re.match(said, found.notes[0])
    with pytest.raises(RefusedError, match="run dph presample"):
        setup(MethodConfig(name=name, mu=0.6))


@pytest.mark.parametrize(
    ("method", "train", "named"),
    [
        ({"name": "PPO"}, {}, r"method\.name='PPO'.*DPH-JS"),
        ({"name": "GRPO", "eta": 0.1}, {}, r"method\.eta.*only DPH"),
        ({"name": "GRPO", "beta": 0.1}, {}, r"method\.beta.*GRPO-KL"),
        ({"name": "RKL", "mu": 0.5}, {}, r"method\.mu.*KL control"),
        ({"name": "KL-control", "mu": 0.8}, {}, r"mu=0\.8 .*one beta reaches mean pass rates"),
        ({"name": "DPH-F", "alpha": 0.5}, {}, r"method\.alpha"),
        ({"name": "KL-DPG", "alpha": 0.5}, {}, "alpha-DPG"),
        ({"name": "GRPO-KL", "beta_from": 1.0}, {}, r"method\.beta_from=1\.0 is not allowed"),
        ({"name": "alpha-DPG", "baseline": "one"}, {}, r"method\.baseline='one' is not allowed"),
        ({"name": "DPH-F"},
         {"rehearsal_form": "released_js"}, r"train key='rehearsal_form'.*method\.rehearsal_form"),
        ({"name": "alpha-DPG"}, {"loss_type": "grpo"}, r"train\.loss_type='grpo'.*sums over whole answers"),
        ({"name": "GRPO", "baseline": "one"}, {"scale_rewards": "group"}, r"train\.scale_rewards='group'"),
        ({"name": "MaxRL"}, {"scale_rewards": "group"}, r"train\.scale_rewards='group'.*divided_by"),
        ({"name": "MaxRL", "rate_power": 1.0}, {}, r"method\.rate_power=1\.0"),
        ({"name": "KL-control-sequence", "divided_by": "std"}, {}, r"method\.divided_by='std'"),
        ({"name": "GRPO"}, {"use_bias_correction_kl": False}, r"train\.use_bias_correction_kl.*no KL in the"),
        ({"name": "GRPO"}, {"ratio_clip": 2.0}, r"train\.ratio_clip=2\.0.*alpha-DPG"),
    ],
)  # fmt: skip
def test_what_a_method_has_no_place_for_is_refused(method, train, named):
    with pytest.raises(ValueError, match=named):
        setup(MethodConfig(**method), RATES, train)


@pytest.mark.parametrize("change", [{"level": "sequence"}, {"reduction": "sum"}, {"dual_clip": 1.1}])
def test_explorations_that_trl_cannot_do_are_refused(change):
    plain = {"clip_low": 0.2, "clip_high": 0.2, "reduction": "token_mean"}
    with pytest.raises(ValueError, match=next(iter(change))):
        exploration_arguments(Exploration(**plain | change))


def trl_loss(model, folder, given, batch):
    run = trainer(model, folder, kind=GRPOTrainer, config=GRPOConfig, gradient_accumulation_steps=1, **given)
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


def test_a_dph_method_rehearses_by_a_divergence_of_ones_own():
    own = MethodConfig(name="DPH-F", divergence="support.own_divergence:LE_CAM")
    assert setup(own).arguments["divergence"] == "support.own_divergence:LE_CAM"
    with pytest.raises(
        ValueError, match="divergence='js' is not allowed: not with GRPO, because only DPH methods rehearse"
    ):
        setup(MethodConfig(name="GRPO", divergence="js"))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("support.own_divergence:NONE", "module:OBJECT, an FDivergence"),
        ("support.own_divergence:NOWHERE", "module:OBJECT, an FDivergence"),
        ("no_such_module:LE_CAM", "that can be imported"),
        ("le_cam", "one of forward_kl, "),
    ],
)
def test_what_is_no_divergence_is_refused_by_its_name(name, says):
    with pytest.raises(ValueError, match=rf"divergence='{name}' is not allowed: .*{says}"):
        named(name)
