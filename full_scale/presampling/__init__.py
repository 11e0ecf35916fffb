"""Pre-sampling: roll out the initial model, split its prompts, store its correct answers for rehearsal."""
