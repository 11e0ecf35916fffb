import numpy as np
from support.small_theorems import PINSKER

from dph_theory.verification.checks.result import pick, plain, simplest, smallest


def test_the_smallest_witness_still_violates_and_is_exact():
    false = PINSKER.changed(PINSKER.false_neighbours[0])
    law = np.array([[0.49871234, 0.50128766]])
    rounded, exact = smallest(false, {"pi": law, "ref": law[:, ::-1]})
    assert false.violation(rounded)[0] > false.tolerance
    assert exact["pi"].sum() == 1
    assert len(repr(plain(rounded))) < len(repr(plain({"pi": law, "ref": law[:, ::-1]})))


def test_a_witness_that_no_rounding_keeps_is_returned_as_it_is():
    law = {"pi": np.array([[0.3, 0.7]]), "ref": np.array([[0.5, 0.5]])}
    assert smallest(PINSKER, law) == (law, None)


def test_the_simplest_of_several():
    false = PINSKER.changed(PINSKER.false_neighbours[0])
    batch = {
        "pi": np.array([[0.5001234, 0.4998766], [0.51, 0.49]]),
        "ref": np.array([[0.5, 0.5], [0.5, 0.5]]),
    }
    violation = false.violation(batch)
    assert (violation > false.tolerance).all()
    assert plain(simplest(false, batch, violation)) == {"pi": [0.51, 0.49], "ref": [0.5, 0.5]}
    assert pick(batch, 1)["pi"].tolist() == [[0.51, 0.49]]
