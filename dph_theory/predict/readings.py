"""Each trainer's reader, and which of the settings that it does not read change no law."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from . import readers
from .reading import Configuration
from .settings import Asked


class Lawless(NamedTuple):
    """What changes no law: `harmless` whatever the value, `plain` at some values, `clips` at one update."""

    harmless: tuple[str, ...]
    plain: Mapping[str, tuple[Any, ...]]
    clips: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """One trainer's.

    `files` were read at the version that its configurations bear; a setting that begins with one of `begin`
    tells the trainer; `coefficient` and `group` name the settings of the KL and of the answers a prompt;
    `better` are settings that put a penalty where it keeps more, the best first.
    """

    files: str
    read: Callable[[Asked], Configuration]
    begin: tuple[str, ...]
    coefficient: str
    group: str
    better: tuple[Mapping[str, Any], ...] = ()


_ACTOR, _ALGORITHM, _SKYRL = "actor_rollout_ref.actor.", "algorithm.", "trainer.algorithm."
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "trl": Reader(
            "trl/trainer/grpo_config.py, grpo_trainer.py",
            readers.trl,
            ("beta", "loss_type", "num_generations", "scale_rewards", "num_iterations"),
            "beta",
            "num_generations",
            ({"use_bias_correction_kl": True}, {"beta": 0.04}),
        ),
        "verl": Reader(
            "verl/trainer/config/ppo_trainer.yaml, ppo/core_algos.py",
            readers.verl,
            ("actor_rollout_ref.", "algorithm."),
            f"{_ACTOR}kl_loss_coef",
            "actor_rollout_ref.rollout.n",
            (
                {
                    f"{_ALGORITHM}use_kl_in_reward": True,
                    f"{_ACTOR}use_kl_loss": False,
                    f"{_ALGORITHM}norm_adv_by_std_in_grpo": False,
                },
                {f"{_ACTOR}use_kl_loss": True, f"{_ACTOR}kl_loss_type": "k3+"},
            ),
        ),
        "slime": Reader(
            "slime/utils/arguments.py, backends/megatron_utils/loss.py",
            readers.slime,
            (),
            "kl-loss-coef",
            "n-samples-per-prompt",
            ({"use-kl-loss": True, "kl-loss-coef": 0.001, "kl-loss-type": "k2"},),
        ),
        "openrlhf": Reader(
            "openrlhf/cli/train_ppo_ray.py, trainer/ppo_utils/experience_maker.py",
            readers.openrlhf,
            ("algo.", "actor.policy_loss_type", "reward.", "rollout.n_samples"),
            "algo.kl.init_coef",
            "rollout.n_samples_per_prompt",
            ({"algo.kl.use_loss": False}, {"algo.kl.init_coef": 0.01}),
        ),
        "nemo-rl": Reader(
            "examples/configs/grpo_math_1B.yaml, nemo_rl/algorithms",
            readers.nemo_rl,
            ("loss_fn.", "grpo."),
            "loss_fn.reference_policy_kl_penalty",
            "grpo.num_generations_per_prompt",
            ({"loss_fn.reference_policy_kl_penalty": 0.01},),
        ),
        "prime-rl": Reader(
            "packages/prime-rl-configs, src/prime_rl/trainer/rl/loss.py",
            readers.prime_rl,
            ("orchestrator.", "trainer.loss."),
            "",
            "orchestrator.rollouts_per_example",
        ),
        "skyrl": Reader(
            "skyrl/train/config/config.py, backends/skyrl_train/utils/ppo_utils.py",
            readers.skyrl,
            ("trainer.algorithm.", "generator."),
            f"{_SKYRL}kl_loss_coef",
            "generator.n_samples_per_prompt",
            (
                {
                    f"{_SKYRL}use_kl_in_reward": True,
                    f"{_SKYRL}use_kl_loss": False,
                    f"{_SKYRL}kl_estimator_type": "k1",
                    f"{_SKYRL}grpo_norm_by_std": False,
                },
                {f"{_SKYRL}use_kl_loss": True, f"{_SKYRL}kl_estimator_type": "k2"},
            ),
        ),
        "areal": Reader(
            "areal/api/cli_args.py, trainer/ppo/actor.py",
            readers.areal,
            ("actor.kl_", "actor.ppo_n", "actor.reward_norm", "actor.adv_norm", "gconfig."),
            "actor.kl_ctl",
            "gconfig.n_samples",
        ),
        "tinker": Reader(
            "tinker_cookbook/rl/train.py, metrics.py, data_processing.py",
            readers.tinker,
            ("kl_penalty_coef", "kl_discount_factor", "num_substeps", "groups_per_batch"),
            "kl_penalty_coef",
            "group_size",
            ({"kl_discount_factor": 1.0}, {"kl_penalty_coef": 0.01, "kl_discount_factor": 1.0}),
        ),
    }
)
"""By trainer, in lower case."""


@cache
def unread(trainer: str) -> Lawless:
    """Which settings that a trainer's reader leaves alone change no law."""
    found = tomllib.loads(Path(__file__).with_name("unread.toml").read_text(encoding="utf-8"))[trainer]
    plain = {name: tuple(values) for name, values in found["plain"].items()}
    return Lawless(tuple(found["harmless"].split()), MappingProxyType(plain), tuple(found["clips"].split()))
