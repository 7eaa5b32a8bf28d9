"""`mms login` with a person at a browser, and `mms add` of a server behind HTTP."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import httpx2
import pytest

from tests.fixtures.home import MMS, Home
from tests.fixtures.http_server import serving

pytestmark = pytest.mark.slow


@pytest.fixture
def home() -> Iterator[Home]:
    home = Home()
    yield home
    home.mms("down")
    home.remove()


def test_logging_in_and_calling(home: Home) -> None:
    with serving("guarded", home.path) as server:
        home.configure({"guarded": server.entry()})
        command = [str(MMS), "login", "guarded", "--no-browser", "--json"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=home.environment(), stdout=pipe, stderr=pipe, text=True) as login:
            assert login.stderr is not None
            shown = next(found for line in login.stderr if (found := re.search(r"http://\S+", line)))
            assert httpx2.get(shown[0], follow_redirects=True, timeout=20).status_code == 200
            out, _ = login.communicate(timeout=30)
        assert login.returncode == 0, out
        assert '"ok": true' in out.replace('":true', '": true')
        called = home.mms("call", "guarded__numbers")
        assert (called.returncode, "line one" in called.stdout) == (0, True), called.stderr


def test_adding_a_server_behind_http_shows_its_tools(home: Home) -> None:
    home.configure({})
    with serving("sdk", home.path) as server:
        added = home.mms("add", "web", "--url", server.origin + "/mcp")
        assert added.returncode == 0, added.stderr
        assert "echo" in added.stdout + added.stderr
        called = home.mms("call", "web__echo", '{"text": "over http"}')
        assert "over http" in called.stdout, called.stderr
