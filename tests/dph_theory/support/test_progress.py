from dph_theory.support.progress import Progress, silent


def test_silent_takes_what_any_progress_is_told():
    told: Progress = silent
    assert told("training", 1, 2) is None
