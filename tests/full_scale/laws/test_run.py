import pytest

from full_scale.laws.run import Run


def test_an_id_is_the_content_whatever_the_process():
    run = Run("which_law", "selection-2", "k3", 0.2, learning_rate=2e-3)
    assert run.id == "which_law-selection-2-k3-341b035939"
    assert run.id == Run(**run.changed).id
    assert run.id != Run("which_law", "selection-2", "k3", 0.2, learning_rate=2e-3, seed=1).id


def test_the_centring_is_what_the_trainer_does():
    assert Run("a", "b", "k3", 0.2).centring == "none"
    assert Run("a", "b", "k3", 0.2, scale="group").centring == "std"
    assert Run("a", "b", "sequence_kl", 0.2).centring == "leave_one_out"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"form": "k4"}, "form='k4' is not allowed: one of none, k3"),
        ({"form": "k3"}, "beta=0.0 is not allowed: above 0 for k3"),
        ({"form": "none", "rehearsed": "js"}, "rehearsed='js'"),
        (
            {"form": "k3", "beta": 0.2, "annealed_from": 1.0},
            "annealed_from=1.0 is not allowed: for sequence_kl",
        ),
        ({"form": "sequence_kl", "beta": 0.2, "annealed_from": 0.1}, "annealed_from=0.1"),
        ({"form": "sequence_kl", "beta": 0.2, "collapsed": True}, "collapsed=True is not allowed: .*`lost`"),
    ],
)
def test_what_cannot_be_trained_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Run("which_law", "selection-2", **fields)
