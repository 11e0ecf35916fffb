"""Training: TRL's GRPO with the rehearsal term added, the collapse meter, exact resume, the dry run."""
