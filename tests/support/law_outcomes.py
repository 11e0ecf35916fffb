"""Finished runs of the laws that nobody trained."""

from full_scale.laws.predictions import predictions
from full_scale.laws.runs import Run
from full_scale.tasks.glass_box.box import box

TASK = box("selection-2")
RUN = Run("which_law", TASK.name, "k3", 0.5)
FOUND = predictions(RUN, TASK, TASK.base)
