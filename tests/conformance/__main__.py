"""Runs the official conformance suites against the fixture server, directly and behind the gateway, and prints how
many checks pass: `make conformance`. Ends with 1 when anything passes directly that does not behind the gateway, apart
from the questions of a handshake-era server that clients share: nobody knows whom they are for."""

from __future__ import annotations

import sys

from tests.conformance.suites import SUITES, missing, run
from tests.conformance.targets import BEHIND, DIRECT, serving

ASKING = ("elicitation-sep1034-defaults", "elicitation-sep1330-enums", "tools-call-elicitation", "tools-call-sampling")
COLUMNS = "{:<38} {:>7} {:>7} {:>8} {:>6}  {}"


def main() -> int:
    wanted = missing()
    if wanted:
        print(f"{wanted} is not there; run `make conformance`, which installs it", file=sys.stderr)
        return 1
    worse: list[str] = []
    for suite in SUITES:
        print(f"\n{suite.package} {suite.version}, protocol {suite.era}")
        print(COLUMNS.format("", "passed", "failed", "warnings", "lost", "verdict"))
        direct = None
        for target in (DIRECT, *BEHIND):
            with serving(target) as url:
                found = run(suite, url)
            direct = direct or found
            lost = found.lost(direct)
            counts = (found.count("SUCCESS"), found.count("FAILURE"), found.count("WARNING"), len(lost))
            print(COLUMNS.format(target.name, *counts, "passes" if found.passes else "FAILS"), flush=True)
            unexpected = [check for check in lost if target.session != "shared" or not check.startswith(ASKING)]
            worse += [f"{suite.version}, {target.name}: {check}" for check in unexpected]
            for check in lost:
                print(f"    lost: {check}")
    for line in worse:
        print(f"worse behind the gateway: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
