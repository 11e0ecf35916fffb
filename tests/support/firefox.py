"""A headless Firefox, spoken to by WebDriver BiDi over its own socket; tests skip where there is none."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

WAIT_S = 60


class Firefox:
    """A page in a window of a given size."""

    def __init__(self, socket) -> None:
        self.socket, self.ids, self.logged = socket, count(1), []
        self.command("session.new", capabilities={})
        self.command("session.subscribe", events=["log.entryAdded"])
        self.context = self.command("browsingContext.create", type="tab")["context"]

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers; events that come before are kept."""
        asked = next(self.ids)
        self.socket.send(json.dumps({"id": asked, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("method") == "log.entryAdded":
                self.logged.append(f"{answer['params']['level']}: {answer['params']['text']}")
            if answer.get("id") == asked:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, path: Path, width: int, height: int = 900) -> None:
        size = {"width": width, "height": height}
        self.command("browsingContext.setViewport", context=self.context, viewport=size)
        self.command("browsingContext.navigate", context=self.context, url=path.as_uri(), wait="complete")

    def run(self, script: str) -> Any:
        """The value of an expression, awaited; it is to be one that JSON can hold."""
        answer = self.command(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({script})))()",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def printed(self) -> bytes:
        """The page as it is printed, a PDF."""
        return base64.b64decode(self.command("browsingContext.print", context=self.context)["data"])


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """A browser with a fresh profile in that folder."""
    websocket = pytest.importorskip("websocket")
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if not program:
        pytest.skip("no firefox here: the page was not looked at in it")
    command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
    # It does not start where the home folder is another user's.
    home = {**os.environ, "HOME": str(profile)}
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=home
    )
    late = Timer(WAIT_S, running.kill)
    late.start()
    try:
        told = (re.search(r"BiDi listening on (ws://\S+)", line) for line in running.stderr)
        address = next((found[1] for found in told if found), None)
        late.cancel()
        if address is None:
            pytest.skip("firefox does not start here: the page was not looked at in it")
        socket = websocket.create_connection(f"{address}/session", timeout=WAIT_S, suppress_origin=True)
        yield Firefox(socket)
        socket.close()
    finally:
        late.cancel()
        running.terminate()
        running.wait(WAIT_S)
        running.stderr.close()
