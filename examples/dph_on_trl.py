"""DPH-RL on TRL, on one page: copy it. Needs TRL 1.16, and this package only where it is imported below.

GRPO explores on the prompts that the initial model does not solve; of those that it solves its own correct answers are
stored, and rehearsed:  loss = GRPO's clipped loss + eta * mean of f(u),  u = pi/ref at each stored token.
    solved, others, rows = presample(model, tokenizer, prompts, is_correct, k=8, max_new_tokens=512)
    trainer = DPHTrainer(model=..., reward_funcs=..., args=DPHConfig(..., eta=0.05), train_dataset=others, rehearsal=rows)
    trainer.train()

Advantages are divided by the group's std (DPH-F), by its mean (DPH-MaxRL) or by nothing: `divided_by`. With
callbacks=[full_scale.training.counts_callback.CountsCallback({"1": prompt}, is_correct, n=32, every=50, folder="counts")]
`dph compare counts/step0.jsonl counts/step50.jsonl` says what the first steps changed. Source: Li et al. 2025
(arXiv:2509.07430). It enters TRL by the five methods whose names are TRL's own.
"""  # noqa: E501

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from trl import GRPOConfig, GRPOTrainer

Row = tuple[list[int], list[int]]
"""Token ids of a prompt, and of a correct answer of the initial model with its end token."""

# f at x = log u. Only -log u has a slope at u = 1: it aims at correct answers, the others at the base.
GENERATORS: dict[str, Callable[[Tensor], Tensor]] = {
    "forward_kl": lambda x: -x,
    "k3": lambda x: torch.expm1(x) - x,
    "js": lambda x: x * x.exp() - (x.exp() + 1) * (torch.nn.functional.softplus(x) - np.log(2)),
    "alpha": lambda x: (0.8 * torch.expm1(x) - torch.expm1(0.8 * x)) / 0.16,  # alpha = 0.2
}


@dataclass
class DPHConfig(GRPOConfig):
    """GRPOConfig, the rehearsal's weight, divergence and answers a step, and what divides advantages."""

    eta: float = 0.05
    divergence: str = "forward_kl"
    rehearsal_rows: int = 64
    divided_by: str = "std"  # Or "mean", or "none".


class DPHTrainer(GRPOTrainer):
    """GRPO with rehearsal, whose gradient depends neither on accumulation nor on the number of processes."""

    def __init__(self, *args: Any, rehearsal: Sequence[Row], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows, self.generator = list(rehearsal), GENERATORS[self.args.divergence]
        self.log_ref: list[Tensor] | None = None  # Of each row, by this very trainer before its first step.
        self._place = (-1, 0)  # The optimiser's step, and the micro-batch in it.

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """TRL's loss of the exploration, plus eta times this micro-batch's part of the rehearsal."""
        explored = super().compute_loss(model, inputs, *args, **kwargs)
        if not self.args.eta or not model.training:
            return explored
        if self.log_ref is None:
            self.log_ref = self._reference(model)
        step, (last, micro) = self.state.global_step, self._place
        self._place = (step, micro + 1 if last == step else 0)
        return explored + self.args.eta * self.rehearsed(model, *self._place).to(explored.dtype)

    def _calculate_rewards(self, *args: Any) -> Tensor:
        self.rewards: Tensor = super()._calculate_rewards(*args)  # Of all processes, a column a function.
        return self.rewards

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        samples: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.args.divided_by == "std" or not self.model.training:
            return samples
        from dph_theory.losses import group_advantages

        rewards = (self.rewards * self.reward_weights.to(self.rewards)).nansum(dim=1)
        whole = group_advantages(rewards.view(-1, self.num_generations), divided_by=self.args.divided_by)
        return {**samples, "advantages": whole.flatten().split(len(inputs))[self.accelerator.process_index]}

    def rehearsed(self, model: Any, step: int, micro: int) -> Tensor:
        """Part of this micro-batch and process in the mean of f over the tokens of the step's rows."""
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        parts = world * self.current_gradient_accumulation_steps
        # The step's rows follow from (seed, step) alone, in an order that makes each part a fair sample.
        order = np.random.default_rng([self.args.seed, step]).permutation(len(self.rows))
        drawn = order[: self.args.rehearsal_rows]
        mine = drawn[micro * world + rank :: parts]
        # An empty part still passes a row through, or sharded processes would wait for it for ever.
        shown = mine if len(mine) else drawn[:1]
        log_pi, mask = self._log_probs(model, shown)
        log_ref = pad_sequence([self.log_ref[i] for i in shown], True, 0.0, "left").to(log_pi)
        log_u = torch.where(mask, log_pi - log_ref, 0.0)
        self._metrics["train"]["rehearsal/log_u_max_abs"].append(log_u.detach().abs().max().item())
        # Weighed by its share of the step's tokens; `world`, since data parallelism averages over processes.
        own, all_of_it = (sum(len(self.rows[i][1]) for i in part) for part in (mine, drawn))
        return world * own / all_of_it * self.generator(log_u)[mask].mean()

    def _log_probs(self, model: Any, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the answers' tokens, right-aligned, and which count; by TRL's own helper."""
        device, longest = self.accelerator.device, max(len(self.rows[i][1]) for i in rows)
        whole = [torch.tensor(prompt + answer) for prompt, answer in (self.rows[i] for i in rows)]
        ids = pad_sequence(whole, True, self.processing_class.pad_token_id, "left").to(device)
        seen = pad_sequence([torch.ones_like(row) for row in whole], True, 0, "left").to(device)
        log_pi = self._get_per_token_logps_and_entropies(model, ids, seen, longest)[0]
        lengths = torch.tensor([len(self.rows[i][1]) for i in rows], device=device)
        return log_pi, torch.arange(longest, device=device) >= longest - lengths[:, None]

    @torch.no_grad()
    def _reference(self, model: Any) -> list[Tensor]:
        """log ref of every row in the trainer's precision, so that u = 1 at first; kept for a resumed run."""
        path = Path(self.args.output_dir, "reference.pt")
        if self.state.global_step:
            kept: list[Tensor] = torch.load(path)
            return kept
        training, size, found = model.training, self.args.per_device_train_batch_size, []
        model.eval()
        for start in range(0, len(self.rows), size):
            rows = range(start, min(start + size, len(self.rows)))
            log_pi, _ = self._log_probs(model, rows)
            found += [row[-len(self.rows[i][1]) :].float().cpu() for i, row in zip(rows, log_pi, strict=True)]
        model.train(training)
        if self.accelerator.is_main_process:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(found, path)
        return found


@torch.no_grad()
def presample(
    model: Any, tokenizer: Any, prompts: Sequence[str], is_correct: Callable[[str, str], bool], *, k: int = 8,
    keep: int = 8, **sampling: Any,
) -> tuple[list[str], list[str], list[Row]]:  # fmt: skip
    """Prompts that k answers and a fresh one solve, the others, up to `keep` stored answers of the first.

    The fresh answer keeps the choice honest: k lucky answers alone would make a prompt count as solved.
    """
    solved, others, rows = [], [], []
    for prompt in prompts:
        asked = tokenizer([prompt] * (k + 1), return_tensors="pt").to(model.device)
        out = model.generate(**asked, do_sample=True, **sampling)[:, asked["input_ids"].shape[1] :].tolist()
        end = tokenizer.eos_token_id
        whole = [ids[: ids.index(end) + 1] if end in ids else [] for ids in out]
        right = [is_correct(prompt, tokenizer.decode(ids, skip_special_tokens=True)) for ids in out]
        (solved if all(right) else others).append(prompt)
        if all(right):  # An answer that was cut off is not rehearsed.
            rows += [(asked["input_ids"][0].tolist(), ids) for ids in whole[:k] if ids][:keep]
    return solved, others, rows
