"""A process that trains, run by torchrun or killed by a test; its arguments say what."""

import json
import sys
from pathlib import Path

import torch

from full_scale.training.collapse_meter import STEP, CollapseMeter
from full_scale.training.online import OnlineTrainer
from support.tiny_training import Gradients, buffer, checkpoint, flat_reward, trainer, weights


def first_gradient(model, output, **settings):
    """The rehearsal's gradient of the first step: the reward is flat, and the exploration has none."""
    gradients = Gradients()
    settings = {"eta": 1.0, "rehearsal_rows": 11, "max_steps": 1, "max_grad_norm": 0.0, **settings}
    trained = trainer(
        model, output, reward=flat_reward, rehearsal=buffer(), callbacks=[gradients], optim="sgd", **settings
    )
    trained.train()
    return gradients.steps[0]


class SequenceKL(OnlineTrainer):
    """Notes whether, at beta = 0, its advantages are TRL's, which are centred by all of the group."""

    agreed = True

    def _sequence_kl(self, samples):
        found = super()._sequence_kl(samples)
        self.agreed &= torch.allclose(found.float(), samples["advantages"] * 4 / 3, atol=1e-6)
        return found


def groups_across_processes(model, output):
    """Whether groups of four, two on each process, are put together: their advantages, their measurement."""
    settings = {"online": "sequence_kl", "scale_rewards": "none", "per_device_train_batch_size": 2}
    run = trainer(model, output, kind=SequenceKL, max_steps=3, **settings)
    CollapseMeter({f"p{i}": 0.4 for i in range(8)}, step=True).attach(run, run.reference)
    run.train()
    logs = [log for log in run.state.log_history if "loss" in log]
    measured = [abs(log["collapse/validity"] - log["reward"]) < 1e-6 for log in logs]
    stepped = any(STEP in log for log in logs)
    return run.agreed and len(measured) == 3 and all(measured) and stepped


def clipped_everywhere(model, output):
    """Whether alpha-DPG counts the clipped ratios of both processes: every right answer's, at this clip."""
    settings = {"online": "alpha_dpg", "alpha": 0.5, "ratio_clip": 1e-30, "per_device_train_batch_size": 2}
    settings |= {"scale_rewards": "none", "steps_per_generation": 2}
    rates = {f"p{i}": 0.4 for i in range(8)}
    run = trainer(model, output, kind=OnlineTrainer, max_steps=2, base_rates=rates, **settings)
    run.train()
    logs = [log for log in run.state.log_history if "loss" in log]
    return all(log["alpha_dpg/clipped"] == round(8 * log["reward"]) for log in logs)


REHEARSED = {"eta": 1.0, "rehearsal_rows": 7, "reward": flat_reward, "max_grad_norm": 0.0, "optim": "sgd"}
"""A training whose gradient is the rehearsal's alone: whatever is drawn, the weights are the same."""


def from_one_process_to_two(model, folder):
    """Whether two processes go on with what one began to weights that lie where one would have ended."""
    settings = {**REHEARSED, "save_strategy": "steps", "save_steps": 2, "max_steps": 4, "rehearsal": buffer()}
    ended = trainer(model, folder / "one", gradient_accumulation_steps=1, **settings)
    ended.train(resume_from_checkpoint=checkpoint(folder / "one", 2))
    whole = torch.load(folder / "whole.pt")
    found = {name.removeprefix("module."): value for name, value in weights(ended).items()}
    return all(torch.allclose(found[name], whole[name], atol=1e-5) for name in whole)


def two_processes(folder):
    """Everything two processes are needed for, in one start."""
    model = folder / "model"
    gradients = {
        "two": first_gradient(model, folder / "g1", gradient_accumulation_steps=2, eta=1.0),
        "two_backward": first_gradient(model, folder / "g2", two_backward=True, eta=1.0),
        "fewer rows than shares": first_gradient(
            model, folder / "g3", gradient_accumulation_steps=4, rehearsal_rows=5, eta=1.0
        ),
    }
    groups = groups_across_processes(model, folder / "groups")
    clipped = clipped_everywhere(model, folder / "clipped")
    moved = from_one_process_to_two(model, folder / "moved")
    world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
    (folder / f"said-{rank}.json").write_text(
        json.dumps({"world": world, "groups": groups, "clipped": clipped, "moved": moved})
    )
    if rank == 0:
        torch.save(gradients, folder / "gradients.pt")
    # A process that ends with the group alive may abort, and torchrun then ends the other.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    two_processes(Path(sys.argv[1]))
