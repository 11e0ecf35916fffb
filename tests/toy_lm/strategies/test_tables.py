from io import StringIO

from rich.console import Console
from support.small_strategies_run import small_record

from toy_lm.strategies import tables


def test_the_tables_show_the_record_s_numbers():
    record = small_record()
    # Where coverage never fell there is no lead.
    for block in record["results"]["sweep"]:
        block["coverage_step"] = [[None for _ in row] for row in block["coverage_step"]]
    shown = tables(record)
    assert [table.row_count for table in shown] == [10, 2, 6, 1, 4, 3]
    console = Console(width=150, record=True, file=StringIO())
    for table in shown:
        console.print(table)
    text = console.export_text()
    assert f"{record['results']['base']['pass_at_k']:.3f}" in text
    assert "0 of 0        │ -           │ -" in text
    assert f"{record['results']['targets']['beta'][0]:.4f}" in text
