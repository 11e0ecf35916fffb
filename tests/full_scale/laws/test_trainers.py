from collections import Counter

import numpy as np
import pytest
from support.small_boxes import uniform_box

from dph_theory.laws import answer_probabilities, filtered_law
from full_scale.laws.training import STORED, stored_answers


def test_stored_answers_are_in_the_filtered_models_proportions():
    task = uniform_box()
    rows = stored_answers(task, list(task.base)).rows()
    assert Counter(row.example_id for row in rows) == {"0": STORED // 2, "1": STORED // 2}
    wanted = answer_probabilities(filtered_law(task.base, task.valid, end=task.end), task.end)[0]
    counts = Counter(tuple(row.completion_ids) for row in rows if row.example_id == "0")
    for answer in ((0, 0), (0, 1), (0, 2)):
        assert abs(counts[answer] - wanted[answer] * STORED / 2) <= 1
    assert np.exp(sum(rows[0].ref_logps)) == pytest.approx(1 / 9)
