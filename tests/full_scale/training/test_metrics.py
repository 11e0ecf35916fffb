from types import SimpleNamespace

from full_scale.training.metrics import Told, said


def state(step, first=True):
    return SimpleNamespace(global_step=step, max_steps=9, is_world_process_zero=first)


def test_every_step_is_told_once_with_what_was_last_measured():
    told = []
    callback = Told(lambda *step: told.append(step))
    for step, logged in ((1, True), (2, False)):
        callback.on_step_end(None, state(step), SimpleNamespace(should_log=logged))
        if logged:
            callback.on_log(None, state(step), None, logs={"loss": 0.1, "reward": 0.5})
    callback.on_log(None, state(2), None, logs={"train_runtime": 3.0})
    assert told == [("train", 1, 9, "reward 0.5, loss 0.1"), ("train", 2, 9, "reward 0.5, loss 0.1")]
    callback.on_log(None, state(3, first=False), None, logs={"loss": 1.0})
    assert len(told) == 2


def test_what_was_not_measured_is_not_said():
    log = {"reward": 0.123456, "loss": None, "collapse/excess_kl": 2.0, "frac_reward_zero_std": 0.77}
    assert said(log) == "reward 0.1235, excess KL 2, groups of equal rewards 77%"
