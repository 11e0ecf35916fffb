import os
import signal
import threading

import pytest

from dph_theory.support.interrupts import deferred


def test_an_interruption_takes_effect_after_the_block():
    done = []

    def interrupted_block():
        with deferred():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted_block()
    assert done == ["the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_goes_on_as_it_is():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
