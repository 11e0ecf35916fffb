import pytest

from dph_theory.counts.rows import row


def test_a_row_is_read_with_all_it_may_hold():
    read = row(
        {
            "id": 3,
            "correct": [1, 0, True],
            "log_ratio": [0.5, -1, 2],
            "style": {"a": 2, "b": None},
            "k": [4, 2],
        }
    )
    assert (read.id, read.n, read.c, read.styles, read.ks) == (3, 3, 2, {"a": 2}, (2, 4))
    assert read.kl == pytest.approx(0.5)
    assert read.kl_correct == pytest.approx(2.5 / 3)
    assert row({"id": "x", "n": 2, "c": 0, "kl": 0.25, "style": None}).kl == 0.25


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"c": 5}, "c=5"),
        ({"c": True}, "c=True"),
        ({"n": 3.0}, "n=3.0"),
        ({"n": 0, "c": 0}, "n=0"),
        ({"id": None}, "needs id"),
        ({"id": ""}, "id=''"),
        ({"correct": [1, 1, 1, 0]}, "must agree with c=1"),
        ({"correct": [2, 0, 0, 0]}, "zeros and ones"),
        ({"log_ratio": [0.1]}, "one for each of the 4"),
        ({"log_ratio": [0.1, 0.2, 0.3, float("nan")]}, "a finite number"),
        ({"kl": "high"}, "kl='high'"),
        ({"style": {"a": 9}}, "at most n = 4"),
        ({"k": [0]}, "k=0"),
    ],
)
def test_a_wrong_field_is_named(changed, named):
    with pytest.raises(ValueError, match=named):
        row({"id": "x", "n": 4, "c": 1} | changed)
