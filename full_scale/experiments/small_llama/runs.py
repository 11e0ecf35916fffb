"""A run on an enumerable task as a value, with its trainer's arguments and its stationary policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from dph_theory.losses.kl_terms import DESCENDING
from dph_theory.support.errors import argument_error, choice

from ..outcome import Settings, annealed
from .sampling import SAMPLINGS, Sampling

SEQUENCE, TOKEN_REVERSE, TOKEN_FORWARD = "sequence reverse KL", "token reverse KL", "token forward KL"
FILTERED, BASE = "filtered model", "base"
FORMS = ("none", *DESCENDING, "alpha_dpg", "rehearsal")
"""Forms of the loss. Those with a KL term converge according to the trainer's arguments (`recipe.objective`).

k3, k3_corrected: TRL's `beta` with `use_bias_correction_kl` off and on. k2: (log u)^2/2 in the loss, by its
gradient in the advantages. sequence_kl: the KL of the answer in the reward. future_kl: k3 with importance
weight in the loss, and the later tokens' log-ratios subtracted from each token's advantage (arXiv
2601.10201).
"""
ANNEALED = ("k3", "k3_corrected", "sequence_kl")  # Forms whose beta may fall along a run.
REHEARSED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "log_u": {"divergence": "forward_kl", "gauge": "printed"},
        "js": {"divergence": "jensen_shannon", "gauge": "printed"},
        "alpha": {"divergence": "alpha", "alpha": 0.2, "gauge": "printed"},
    }
)
Baseline: TypeAlias = Literal["mean", "leave_one_out", "one", "none"]


@dataclass(frozen=True)
class LlamaRun(Settings):
    """One training of a small Llama on an enumerable task; `form` is one of FORMS."""

    experiment: str
    task: str
    form: str  # Place of the KL term in the loss, or a method's name.
    beta: float = 0.0  # Coefficient of the penalty, or eta of the rehearsal.
    beta_from: float | None = None
    """Initial beta, which falls geometrically to `beta` by the middle of the training."""
    learning_rate: float = 1e-3
    steps: int = 250
    seed: int = 0
    optimiser: Literal["adam", "sgd"] = "adam"
    rank: int | None = None  # Of a LoRA adapter; None trains every weight.
    scale: Literal["none", "group"] = "none"
    group_size: int = 128
    groups: int = 1  # Groups of each row per step.
    constant: bool = False  # Is the learning rate constant, not falling linearly to zero?
    alpha: float | None = None  # Of alpha-DPG.
    rehearsed: str | None = None
    """Rehearsed divergence on stored correct samples: log_u (-log u), js or alpha (alpha = 0.2)."""
    dapo: bool = False  # DAPO's exploration: ratio clipped at 1.28, token mean.
    baseline: Baseline = "mean"  # Subtracted from rewards: a group's mean, or a constant.
    sampler: str | None = None  # One of SAMPLINGS.
    every: int = 0  # Steps between exact measurements; 0 for the end only.

    def __post_init__(self) -> None:
        choice("form", self.form, FORMS)
        if self.form in DESCENDING and not self.beta > 0:
            raise argument_error("beta", self.beta, f"above 0 for {self.form}")
        choice("baseline", self.baseline, get_args(Baseline))
        if self.baseline != "mean" and (self.scale == "group" or self.form == "alpha_dpg"):
            allowed = "mean where the group's deviation divides, and for alpha_dpg"
            raise argument_error("baseline", self.baseline, allowed)
        if self.beta_from is not None and (self.form not in ANNEALED or self.beta_from < self.beta):
            raise argument_error(
                "beta_from", self.beta_from, f"at least beta, for {', '.join(ANNEALED)} alone"
            )
        if (self.rehearsed is not None) != (self.form == "rehearsal"):
            raise argument_error("rehearsed", self.rehearsed, "given for the form rehearsal alone")

    @property
    def id(self) -> str:
        """Name under which the run is stored."""
        return f"{self.experiment}-{self.task}-{self.form}-{self.digest}"

    def beta_at(self, step: int) -> float:
        """KL coefficient at a training step, annealed from `beta_from` if that is given."""
        return annealed(self.beta, self.beta_from, step / self.steps)

    @property
    def arguments(self) -> dict[str, Any]:
        """Trainer arguments that the run sets; eta weighs sums over an answer's tokens."""
        return {
            "seed": self.seed,
            "max_steps": self.steps,
            "learning_rate": self.learning_rate,
            "lr_scheduler_type": "constant" if self.constant else "linear",
            "optim": "sgd" if self.optimiser == "sgd" else "adamw_torch",
            "num_generations": self.group_size,
            "loss_type": "dapo" if self.dapo else "dr_grpo",
            "epsilon_high": 0.28 if self.dapo else None,
            "scale_rewards": self.scale,
            "baseline": self.baseline,
            **(self.sampling.arguments if self.sampling else {}),
            **self._of_form(),
        }

    def _of_form(self) -> dict[str, Any]:
        match self.form:
            case "k3" | "k3_corrected":
                return {"beta": self.beta, "use_bias_correction_kl": self.form == "k3_corrected"}
            case "future_kl":
                return {"beta": self.beta, "use_bias_correction_kl": True, "online": "future_kl"}
            case "k2":
                return {"rehearsal_form": "definition", "divergence": "reverse_kl", "eta": self.beta}
            case "sequence_kl":
                return {"online": self.form, "online_beta": self.beta, "beta_from": self.beta_from}
            case "alpha_dpg":
                return {"online": "alpha_dpg", "alpha": self.alpha}
            case "rehearsal":
                of_answers = {"rehearsal_level": "sequence", "rehearsal_reduction": "sequence_mean"}
                return {"eta": self.beta, **of_answers, **REHEARSED[self.rehearsed or "log_u"]}
        return {}

    @property
    def stationary_policy(self) -> str | None:
        """Name of the stationary policy that the run converges to, or None. Entries: `token_penalties`."""
        from dph_theory.divergences import FORWARD_KL

        from ...recipe.objective import objective_of

        objective = objective_of(self.arguments)
        if objective.unknown or objective.divergence is None:
            return None
        if not objective.of_tokens:
            return SEQUENCE
        return TOKEN_FORWARD if objective.divergence.name == FORWARD_KL.name else TOKEN_REVERSE

    @property
    def sampling(self) -> Sampling | None:
        """Sampler of the answers; None if they are drawn from the policy itself."""
        return None if self.sampler is None else SAMPLINGS[self.sampler]

    @property
    def target(self) -> str | None:
        """Target of alpha-DPG, the filtered policy. Entries: `alpha_dpg`."""
        return FILTERED if self.form == "alpha_dpg" else None

    @property
    def centring(self) -> str:
        """Centring of the rewards of a run with a prediction, a key of `dph_theory.stationary.SCALES`."""
        from ...recipe.objective import objective_of

        objective = objective_of(self.arguments)
        return "none" if objective.unknown else objective.advantage.scale or "none"
