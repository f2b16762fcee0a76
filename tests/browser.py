"""A headless Chromium, driven over its DevTools protocol through a pair of pipes; standard library only.

https://chromedevtools.github.io/devtools-protocol/ ; messages are JSON that ends with a NUL byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = f"needs a browser on PATH: {', '.join(NAMES)}"
_PATIENCE_S = 60.0
_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --no-default-browser-check --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage --disable-extensions "
    "--disable-default-apps --hide-scrollbars --remote-debugging-pipe"
).split()


def found():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@dataclass
class Tab:
    """One page that was opened, and what happened in it."""

    browser: Browser
    session: str
    complaints: list[str] = field(default_factory=list)
    """Console messages, exceptions, and what the browser logs itself: refused styles, failed loads."""
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for, whether or not it came."""
    loaded: bool = False

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def value(self, expression):
        """What a JavaScript expression gives, as Python has it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def look(self, width, height=900, dark=False, media="screen"):
        """Be so many CSS pixels wide, light or dark, on a screen or on paper."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def picture(self, path):
        """A PNG of the whole page."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def printed(self):
        """The page as a PDF's bytes."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def take(self, method, said):
        """One of the browser's messages about this page."""
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in said["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(said["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.complaints.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True


class Browser:
    """Started once, closed at the end of a `with`."""

    def __init__(self, program, profile):
        self._in, theirs_out = os.pipe()
        theirs_in, self._out = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4, whatever numbers the pipes have here.
        command = ["bash", "-c", 'exec "$@" 3<&"$READS" 4>&"$WRITES"', "browser", program, *_QUIET]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}", "about:blank"],
            env={**os.environ, "READS": str(theirs_in), "WRITES": str(theirs_out)},
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._read = b""
        self._last = 0
        self._tabs = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(OSError, AssertionError):
            self.call("Browser.close")
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def open(self, url, **looks):
        """A page, once it and what it asked for have loaded; `looks`: as `Tab.look` takes them."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        tab = Tab(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        self._tabs[tab.session] = tab
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.look(**{"width": 1400, **looks})
        tab.loaded = False  # about:blank may have told only now
        tab.call("Page.navigate", url=url)
        ends = time.monotonic() + _PATIENCE_S
        while not tab.loaded:
            self._take(self._message(ends))
        # What a script starts after loading comes within two frames.
        tab.value("new Promise(done => setTimeout(done, 50))")
        return tab

    def call(self, method, session=None, **parameters):
        """What the browser answers; what it tells meanwhile goes to its tab."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + _PATIENCE_S
        while True:
            answer = self._message(ends)
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._take(answer)

    def _take(self, message):
        tab = self._tabs.get(message.get("sessionId"))
        if tab is not None:
            tab.take(message.get("method"), message.get("params", {}))

    def _message(self, ends):
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._in], [], [], max(ends - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has gone"
            self._read += data
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)
