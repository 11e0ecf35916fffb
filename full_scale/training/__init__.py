"""Training: TRL's GRPO with the rehearsal term, the collapse meter, exact resume, the dry run."""
