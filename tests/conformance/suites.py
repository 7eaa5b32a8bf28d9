"""The official conformance suites: what they run on, how they are run, and what they find."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

MODULES = Path(__file__).parents[1] / "fixtures" / "conformance" / "node_modules"
NODE = MODULES / "node" / "bin" / "node"
"""The suites need Node.js 22; the one of the machine may be older."""
TIMEOUT_SECONDS = 240.0


@dataclass(frozen=True)
class Suite:
    """One version of the suite.

    Attributes:
        era: of the protocol, as people call it.
        package: folder of the npm package; version: of that.
        options: which of its scenarios are run.
    """

    era: str
    package: str
    version: str
    options: tuple[str, ...]


HANDSHAKE = Suite("2025-11-25 and before", "conformance", "0.1.16", ("--suite", "all"))
STATELESS = Suite("2026-07-28", "conformance-next", "0.2.0-alpha.12", ("--requirements", "2026-07-28"))
SUITES = (HANDSHAKE, STATELESS)


@dataclass(frozen=True)
class Findings:
    """What a suite found.

    Attributes:
        checks: how often each check of each scenario ended in each status.
        faults: failures and warnings, one line each.
        passes: the suite's own verdict: nothing that it scores has failed.
    """

    checks: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    passes: bool = False

    def count(self, status: str) -> int:
        return sum(statuses[status] for statuses in self.checks.values())

    def lost(self, direct: Findings) -> list[str]:
        """The checks that pass more often without what is between."""
        return [
            f"{scenario}: {check} ({self.checks.get((scenario, check), Counter())['SUCCESS']} of {statuses['SUCCESS']})"
            for (scenario, check), statuses in direct.checks.items()
            if self.checks.get((scenario, check), Counter())["SUCCESS"] < statuses["SUCCESS"]
        ]


def missing() -> str:
    """What has to be installed before a suite can run; empty when nothing has."""
    programs = (NODE, *(_program(suite) for suite in SUITES))
    return next((str(path) for path in programs if not path.exists()), "")


def run(suite: Suite, url: str) -> Findings:
    """Runs a suite against a server."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(NODE), str(_program(suite)), "server", "--url", url, "-o", folder, *suite.options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env=_environment())
        findings = Findings(passes=done.returncode == 0)
        files = sorted(Path(folder).rglob("checks.json"))
        if not files:
            raise RuntimeError(f"the suite has run nothing: {done.stderr or done.stdout}")
        for file in files:
            scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
            for check in json.loads(file.read_text()):
                _note(findings, scenario, check)
        return findings


def _note(findings: Findings, scenario: str, check: dict[str, str]) -> None:
    findings.checks.setdefault((scenario, check["id"]), Counter())[check["status"]] += 1
    if check["status"] in ("FAILURE", "WARNING"):
        reason = (check.get("errorMessage") or "").splitlines()
        findings.faults.append(f"{check['status'].lower()}: {scenario}: {check['id']}: {reason[0] if reason else ''}")


def _program(suite: Suite) -> Path:
    return MODULES / suite.package / "dist" / "index.js"


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_COLOR": "1"}
