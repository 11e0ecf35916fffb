from types import SimpleNamespace

import pytest

from full_scale.training.metrics import (
    HEADERS,
    Metrics,
    curves,
    draw,
    read_metrics,
    said,
    sparkline,
    table_rows,
)

CONTROL = SimpleNamespace(should_log=True)


def state(step, first=True):
    return SimpleNamespace(global_step=step, max_steps=9, is_world_process_zero=first)


def logged(metrics, steps):
    metrics.on_train_begin(None, state(steps[0] - 1), CONTROL)
    for step in steps:
        metrics.on_step_end(None, state(step), CONTROL)
        metrics.on_log(None, state(step), CONTROL, logs={"loss": step / 10, "reward": 0.5})
    metrics.on_log(None, state(steps[-1]), CONTROL, logs={"train_runtime": 3.0})


def test_a_resumed_training_leaves_one_line_a_step(tmp_path):
    path, told = tmp_path / "run" / "metrics.jsonl", []
    logged(Metrics(path, lambda *step: told.append(step)), (1, 2, 3))
    # Killed while it wrote; its last checkpoint is that of step 2.
    path.write_text(path.read_text() + '{"step": 4, "lo')
    assert [row["step"] for row in read_metrics(path)] == [1, 2, 3]
    logged(Metrics(path, lambda *step: told.append(step)), (3, 4))
    assert [(row["step"], row["loss"]) for row in read_metrics(path)] == [
        (1, 0.1),
        (2, 0.2),
        (3, 0.3),
        (4, 0.4),
    ]
    assert [step[1] for step in told] == [1, 2, 3, 3, 4]
    assert told[-1] == ("train", 4, 9, "reward 0.5, loss 0.4")


def test_only_the_first_process_writes(tmp_path):
    metrics = Metrics(tmp_path / "m.jsonl", lambda *step: None)
    metrics.on_train_begin(None, state(0, first=False), CONTROL)
    metrics.on_log(None, state(1, first=False), CONTROL, logs={"loss": 1.0})
    assert not (tmp_path / "m.jsonl").exists()


def test_what_was_not_measured_is_not_said():
    assert said({"reward": 0.123456, "loss": None, "collapse/excess_kl": 2.0}) == "reward 0.1235, excess KL 2"


ROWS = [{"step": i, "reward": i / 10, "loss": 1.0, "odd": None} for i in range(1, 9)]


def test_curves_are_what_was_logged():
    assert [*curves(ROWS)] == ["reward", "loss"]
    assert curves(ROWS, ["reward"])["reward"][-1] == (8, 0.8)
    with pytest.raises(ValueError, match=r"'kl'.*'reward'"):
        curves(ROWS, ["kl"])


def test_a_sparkline_rises_with_its_values_and_is_flat_without_change():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0, 0, 7, 7], 2) == "▁█"
    assert sparkline([3, 3, 3], 10) == "▁▁▁"


def test_a_row_tells_first_last_least_and_largest():
    rows = table_rows(curves(ROWS), 4)
    assert rows[0][:5] == ["reward", "0.1", "0.8", "0.1", "0.8"]
    assert all(len(row) == len(HEADERS) for row in rows)


def test_a_drawing_is_a_file_of_its_kind(tmp_path):
    draw(curves(ROWS), tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    with pytest.raises(ValueError, match=r"\.png"):
        draw(curves(ROWS), tmp_path / "c.txt")
