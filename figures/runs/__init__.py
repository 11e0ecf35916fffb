"""The figures that depend on runs, drawn from a user's own: counts by any trainer, or full-scale runs."""
