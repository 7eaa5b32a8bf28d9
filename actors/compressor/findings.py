"""Reads what compilers and linters find: places and messages, in the forms that most tools use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_PLACE = r"(?:[A-Za-z]:[\\/])?(?=[^\s:]*[A-Za-z_])[^\s:()\[\]]+"
_SEVERITY = r"(?:fatal |internal compiler )?(?:error|warning|warn|note|info|hint|help|remark|style|convention|refactor)"
_IN_LINE = re.compile(
    rf"(?:\[?(?P<level>ERROR|WARNING|WARN|INFO|e|w)\]?:? +)?(?P<place>{_PLACE}"
    rf"(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)|:\[\d+,\d+\])):? +(?:- )?"
    rf"(?P<message>(?P<severity>{_SEVERITY})\b.*|[A-Z]{{1,6}}\d{{1,5}}\b.*|[CEWFRINS]: \S.*"
    r"|\S.* [\[(][A-Za-z][\w./@-]+[\])]$)"
)
"""`file:1:2: error: …`, `file(1,2): error TS1: …`, `file:1:2: E501 …`, `file.go:1:2: … (linter)`."""
_BEHIND = re.compile(rf"\s*-->\s+(?P<place>{_PLACE}(?::\d+(?::\d+)?))\s*$")
"""The place under its message."""
_UNDER = re.compile(
    r"\s+(?P<place>\d+:\d+)\s+(?:(?P<severity>error|warning|info|✖|⚠|×)\s+(?P<message>\S.*)"
    r"|(?P<rule>[A-Z]{1,6}\d{2,5} .*))$"
)
"""A finding under the path of its file."""
_FILE = re.compile(r"((?:[A-Za-z]:[\\/])?[\w.@~+\\/-]*[\w-]\.\w{1,6}|/\S+|\./\S+?):?$")
_SYMBOL = re.compile(r"\s+symbol: +(\S.*)")
_CODE = re.compile(r"(?:(?:error|warning)?:? ?\[([A-Z]\w*\d+|[\w:.-]+)\]|(?:error |warning )?([A-Z]{1,6}\d{2,5})\b)")
_VALUE = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|‘[^’]*’|“[^”]*”|\d+")
_LABEL = re.compile(r"[ \t]+(?!\d+:\d+ )\S|\d+ +\| ")
_MOST_LABELS = 8
_POSITION = re.compile(r"(?::\d+){1,2}$|:\[\d+,\d+\]$|\(\d+(?:,\d+)?\)$")
_SEVERE = ("err", "fatal", "internal compiler", "e:", "f:", "✖", "×")
_ENDS = (":", ")", "]")
"""How the first word of a line ends that begins with a place."""
_FEWEST = 6
_SHARE = 0.04
_CONSIDERED = 400


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        lines: positions of the lines that say it: its message, and its place where that has a line of its own.
        file / place: where it was found; line and column as the tool writes them.
        severity: `ERROR`, `WARNING` or `OTHER`.
        kind: what findings of one rule have in common.
        head: position of the line that names the file, where findings stand under it; -1 elsewhere.
    """

    lines: tuple[int, ...]
    file: str
    place: str
    message: str
    severity: int
    kind: str
    head: int = -1


ERROR, WARNING, OTHER = 0, 1, 2


def reports(lines: Sequence[str]) -> bool:
    """Whether lines of a sample are what a compiler or linter found."""
    found = read(lines)
    said = {index for each in found for index in each.lines}
    return len(found) >= _FEWEST and len(said) >= max(_FEWEST, _SHARE * len(lines))


def read(lines: Sequence[str]) -> list[Finding]:
    """The findings, in order; notes that only explain the one before are left out."""
    found: list[Finding] = []
    path, head = "", -1
    for index, line in enumerate(lines):
        if "-->" in line:
            behind = _BEHIND.match(line)
            if behind and index and _says(lines[index - 1]):
                found.append(_finding((index - 1, index), behind["place"], lines[index - 1].strip(), ""))
            continue
        if not line[:1].isspace():
            if file := _FILE.match(line):
                path, head = file[1], index
            elif (first := line[:_CONSIDERED].partition(" ")[0])[-1:] in _ENDS or (
                ":" in first and first[-1:].isdigit()
            ):
                whole = _IN_LINE.match(line[:_CONSIDERED])
                if whole and whole["severity"] not in ("note", "info", "help", "hint"):
                    severity = whole["severity"] or whole["level"] or ""
                    found.append(_finding((index,), whole["place"], line[whole.start("message") :].strip(), severity))
        elif path and (under := _UNDER.match(line[:_CONSIDERED])):
            message = line[under.start("message" if under["message"] else "rule") :].strip()
            finding = _finding((index,), f"{path}:{under['place']}", message, under["severity"] or "")
            found.append(replace(finding, head=head))
        elif found and "symbol:" in line and (symbol := _SYMBOL.match(line)):
            last = found[-1]
            found[-1] = replace(last, lines=(*last.lines, index), message=f"{last.message}: {symbol[1]}")
    return found


def labels(lines: Sequence[str], finding: Finding) -> range:
    """Positions of the lines behind a finding that show the place and say what is wrong there: indented ones, and
    source in a frame, without the empty lines of the frame at its beginning and end."""
    first = finding.lines[-1] + 1
    last = first
    while last < min(len(lines), first + _MOST_LABELS) and _LABEL.match(lines[last]):
        last += 1
    while first < last and lines[first].strip(" |") == "":
        first += 1
    while first < last and lines[last - 1].strip(" |") == "":
        last -= 1
    return range(first, last)


def in_common(messages: Sequence[str]) -> tuple[str, list[str]]:
    """What messages share that differ only by names and numbers, with `…` for those, and of each message what stands
    there; an empty form where they differ by more."""
    between = _VALUE.split(messages[0])
    if any(_VALUE.split(message) != between for message in messages):
        return "", []
    values = [_VALUE.findall(message) for message in messages]
    differ = [len(set(column)) > 1 for column in zip(*values, strict=True)]
    inside = [*("…" if other else value for value, other in zip(values[0], differ, strict=True)), ""]
    form = "".join(text + value for text, value in zip(between, inside, strict=True))
    return form, [" ".join(value for value, other in zip(each, differ, strict=True) if other) for each in values]


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("|", "=", "-->")) and not line[:1].isspace()


def _finding(lines: tuple[int, ...], place: str, message: str, severity: str) -> Finding:
    said = (severity or message[:12]).lower()
    rank = ERROR if said == "e" or said.startswith(_SEVERE) else OTHER
    if said.startswith(("warn", "w:", "⚠")) or said == "w":
        rank = WARNING
    file = _POSITION.sub("", place)
    return Finding(lines, file, place[len(file) :].lstrip(":"), message, rank, _rule(message))


def _rule(message: str) -> str:
    """The rule that a message is of: a code at its beginning, a name at its end, else what is left without values."""
    code = _CODE.match(message)
    if code:
        return code[1] or code[2]
    if message.endswith(("]", ")")):
        name = message[max(message.rfind("["), message.rfind("(")) + 1 : -1]
    else:
        name = message[message.rfind("  ") + 2 :] if "  " in message else ""
    return name if name and " " not in name else _VALUE.sub("", message)
