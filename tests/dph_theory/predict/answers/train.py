"""Train a small model with GRPO.

accelerate launch train.py --learning_rate 1e-6
"""

from reward import is_correct
from trl import GRPOConfig, GRPOTrainer

GROUP = 16
config = GRPOConfig(
    output_dir="run",
    learning_rate=1e-6,
    num_generations=GROUP,
    max_completion_length=1024,
    use_vllm=True,
    scale_rewards="batch",
)
trainer = GRPOTrainer("model", reward_funcs=is_correct, args=config)
trainer.train()
