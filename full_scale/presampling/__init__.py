"""Pre-sampling: roll out the initial model, split its prompts, keep its correct answers for rehearsal."""
