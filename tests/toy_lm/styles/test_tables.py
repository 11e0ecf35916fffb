from rich.console import Console
from support.tiny_styles_base import end, made_up

from dph_theory.support.record import record
from toy_lm.styles.tables import tables


def printed(**runs):
    made = record("toy.styles", seed=0, config={}, results=made_up(**runs), findings=())
    found, console = tables(made), Console(width=250)
    with console.capture() as text:
        for table in found:
            console.print(table)
    return found, text.get()


def test_a_table_for_each_split_and_one_for_what_was_swept():
    run = {"end": end(0.512, 0.934, 1.0)}
    assert len(printed(A=run)[0]) == 3
    found, text = printed(A=run, B=run | {"groups": ["strengths"], "strength": 0.123})
    assert len(found) == 4
    assert [table.row_count for table in found] == [2, 2, 1, 1]
    assert "0.512" in text
    assert "held-out prompts" in text


def test_the_lead_of_the_meter_is_told_run_by_run():
    curves = {
        "X": {"excess": [0.0, 0.2, 0.6], "pass_at_16": [0.9, 0.9, 0.8]},
        "Y": {"pass_at_16": [0.9, 0.9, 0.8]},
        "Z": {"excess": [0.0, 0.0, 0.12]},
    }
    score = end(0.5, 0.9, 1.0)
    _, text = printed(**{name: {"end": score, "curve": curve} for name, curve in curves.items()})
    rows = [line.split("│")[1:-1] for line in text.splitlines() if line.count("│") == 7]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["X", "0", "20", "+10", "+0", "+0"],
        ["Y", "0", "20", "no warning", "no warning", "no warning"],
        ["Z", "0", "-", "false alarm", "-", "-"],
    ]


def test_what_is_unknown_is_a_dash_and_one_seed_has_no_interval():
    row = next(line for line in printed(A={"end": end(0.5, 0.9, 1.0)})[1].splitlines() if " A " in line)
    assert " - " in row
    assert "(" not in row


def test_intervals_are_printed_over_seeds():
    results = made_up(A={"end": end(0.5, 0.9, 1.0)})
    results["runs"].append(results["runs"][0] | {"seed": 1})
    console = Console(width=250)
    with console.capture() as text:
        console.print(tables(record("toy.styles", seed=0, config={}, results=results, findings=()))[0])
    assert "0.500 (0.500, 0.500)" in text.get()
