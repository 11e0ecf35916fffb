if [ "$1" = big ]; then
  BETA=0.04
else
  BETA=0.001
fi
swift rlhf \
  --rlhf_type grpo \
  --external_plugins plugin.py \
  --reward_funcs accuracy \
  --advantage_estimator rloo \
  --num_generations 16 \
  --beta $BETA \
  --top_p 0.9
