from dataclasses import dataclass

import numpy as np

from dph_theory.support.frozen import as_json, from_json
from figures.results.arrays import Array


@dataclass(frozen=True)
class Curve:
    y: Array


def test_arrays_are_stored_as_lists_and_read_again():
    stored = as_json(Curve(np.array([[1 / 3, np.inf]])), 3)
    assert stored == {"y": [[0.333, np.inf]]}
    assert from_json(Curve, {"y": [["inf", 0.333, None]]}).y[0, :2].tolist() == [np.inf, 0.333]
    assert np.isnan(from_json(Curve, {"y": None}).y)
