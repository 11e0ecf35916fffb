import io

from dph_theory.support.terminal import PIPED_WIDTH, Bars, console


def test_piped_output_is_wide_enough_for_the_tables():
    assert console(file=io.StringIO()).width == PIPED_WIDTH


def test_a_terminal_keeps_its_own_width():
    assert console(file=io.StringIO(), force_terminal=True, width=60).width == 60


def test_errors_go_to_their_own_stream():
    assert console(stderr=True).stderr
    assert not console().stderr


def test_bars_say_what_is_done_and_how_far():
    stream = io.StringIO()
    with Bars(on=console(file=stream), prefix="toy: ") as bars:
        bars.start("fitting")
        bars("fitting", 2, 5, "loss [nats] 0.3")
        bars("drawing", 1, 1)
        bars("reading", 1, 9)
        bars.remove("reading")
        bars.remove("never begun")
    said = stream.getvalue()
    assert "toy: fitting" in said
    assert "2/5" in said
    assert "loss [nats] 0.3" in said
    assert "1/1" in said
    assert "reading" not in said


def test_hidden_bars_say_nothing():
    stream = io.StringIO()
    with Bars(on=console(file=stream), hidden=True) as bars:
        bars("fitting", 2, 5)
        bars.remove("fitting")
    assert stream.getvalue() == ""
