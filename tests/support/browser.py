"""A headless Chromium that writes down what the page logs and asks for; tests skip where there is none."""

import importlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Browser:
    """A page in a window of a given size."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, path: Path, width: int, height: int = 900, dark: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get(path.as_uri())
        self.until(f"return document.URL === '{path.as_uri()}' && document.readyState === 'complete'")

    def run(self, script: str):
        return self.driver.execute_script(script)

    def until(self, script: str) -> None:
        """Wait for what the script asks."""
        wait = importlib.import_module("selenium.webdriver.support.wait").WebDriverWait(self.driver, 60)
        wait.until(lambda driver: driver.execute_script(script))

    def complaints(self) -> list[str]:
        """What the console has shown since this was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that the page asked for since this was last asked, those inside it left out."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        # The browser's own first page asks for its parts at its leisure.
        asked = [p["request"]["url"] for p in sent if p["documentURL"] == self.driver.current_url]
        return [url for url in asked if not url.startswith("data:")]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in that folder."""
    webdriver = pytest.importorskip("selenium.webdriver")
    found, program = shutil.which("chromedriver"), shutil.which("chromium")
    if not (found and program):
        pytest.skip("no chromium and chromedriver here: the page was not looked at in a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found))
    try:
        # Not the tab that it starts with, whose own page may still be on its way.
        driver.switch_to.new_window("tab")
        yield Browser(driver)
    finally:
        driver.quit()
