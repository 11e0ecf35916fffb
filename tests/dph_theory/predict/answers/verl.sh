#!/usr/bin/env bash
# GRPO on two nodes; CRITIC and RAY are set by the cluster.
set -x
MODEL=${MODEL:-Qwen/Qwen3-8B}
KL_COEF=${KL_COEF:-0.001}
RAY=(--runtime-env env.yaml)

DATA=(
    data.train_files=$HOME/data/train.parquet
    data.train_batch_size=256
)
ACTOR=(
    actor_rollout_ref.model.path=$MODEL
    actor_rollout_ref.actor.optim.lr=1e-6
    actor_rollout_ref.actor.ppo_mini_batch_size=64
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=${KL_COEF}
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
    actor_rollout_ref.actor.entropy_coeff=0
)
ray job submit "${RAY[@]}" -- python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    algorithm.use_kl_in_reward=False \
    actor_rollout_ref.rollout.n=8 \
    "${DATA[@]}" "${ACTOR[@]}" trainer.total_training_steps=200 "$@"
