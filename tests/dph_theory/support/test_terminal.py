import io

from rich.progress import Progress

from dph_theory.support.terminal import PIPED_WIDTH, columns, console


def test_piped_output_is_wide_enough_for_the_tables():
    assert console(file=io.StringIO()).width == PIPED_WIDTH


def test_a_terminal_keeps_its_own_width():
    assert console(file=io.StringIO(), force_terminal=True, width=60).width == 60


def test_errors_go_to_their_own_stream():
    assert console(stderr=True).stderr
    assert not console().stderr


def test_bars_say_what_is_done_and_how_far():
    stream = io.StringIO()
    with Progress(*columns(), console=console(file=stream)) as shown:
        shown.add_task("fitting", total=5, completed=2)
    said = stream.getvalue()
    assert "fitting" in said
    assert "2/5" in said
