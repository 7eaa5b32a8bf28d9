"""What kind of text a response is, judged from samples; a guess costs quality, never correctness."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum

import re2

from actors.compressor import jsontext
from actors.compressor.expanded import rows_as_json
from actors.compressor.findings import reports
from actors.compressor.labelled import written_out
from actors.compressor.often import often
from actors.compressor.pyrepr import as_json
from actors.compressor.stamps import unstamped
from actors.compressor.tabular import aligned, delimiter, headless, indexed, one_line_rows, plain, preamble

_SAMPLE_LINES = 200
_SAMPLE_CHARS = 20_000
_DEEP = " " * 40
_UNEVEN = 0.618
_PYTHON = re.compile(r"\s*(?:(?:async )?def \w+\(|class \w+.*:$|(?:if|for|while|with|elif) .*:$|(?:try|else):$)")
_BESIDE_IMPORTS = 0.05
_FEWEST_MARKS = 0.02
_MOST_PARSED = 4_000_000
"""Code points from which lines of JSON are taken for the lines of a log: to read each takes seconds."""


class Kind(Enum):
    """What the strategies tell apart."""

    JSON = "json"
    NDJSON = "ndjson"
    HTML = "html"
    DIFF = "diff"
    COMMITS = "commits"
    BLAME = "blame"
    FINDINGS = "findings"
    MINIFIED = "minified"
    GREP = "grep"
    LOG = "log"
    REPORT = "report"
    TABLE = "table"
    PATHS = "paths"
    FILES = "files"
    CONFIG = "config"
    RECORDS = "records"
    MARKDOWN = "markdown"
    CODE = "code"
    PROSE = "prose"


_HTML = re.compile(r"<!doctype html|<html[\s>]|<body[\s>]|<head[\s>]", re.I)
_TAG = re.compile(r"</?(?:div|p|a|span|table|tr|td|li|ul|h[1-6]|section|article|br|img|pre|code)\b[^<>]{0,300}>", re.I)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.M)
_DIFF_HEADS = ("diff ", "--- ", "Index: ")
_IN_DIFF = re.compile(r"[-+@ \\]|diff |index ")
_MOSTLY_DIFF = 0.5
"""Share of the lines that look like those of a diff, in a text that does not begin as one: a run may show some."""
_COMMIT = re.compile(r"^commit [0-9a-f]{7,64}\b", re.M)
COMMIT_TOLD = re.compile(r"^Commit: '?(?=[0-9a-f]{7,64}\b)", re.M)
"""A commit as git servers tell it: who, when and the message behind labels."""
_COMMIT_LINE = re.compile(r"[*|/\\_ ]{0,20}(?=\d{0,39}[a-f])[0-9a-f]{7,40} \S")
_BLAMED = re.compile(r"\^?[0-9a-f]{7,40} (?:\S+ +)?\([^\n]{1,80}? \d{4}-\d\d-\d\d [\d:]{8} [-+]\d{4} +\d+\)")
_GREP = re.compile(r"^[^\s:,][^\s:,]{0,200}:\d{1,7}:")
_FILE = re.compile(r"[-dlbcpsD][-rwxsStTlL]{9}[.+@]? +(?:\d+ +)?[^\s/]+[/ ]|\[(?:FILE|DIR)\] \S")
_PATH = re.compile(r"(?:[\w.~@+-]*/)+[^\s/:,;]*/?|[\w.@+-]+\.\w{1,6}")
_STAMP = re.compile(
    r"^(?:[\w.-]{1,60} *\| +|[a-z][\w.-]{1,40} |(?:t|ts|time|timestamp|date)=)?\W{0,3}"
    r"(?:\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{10,13}(?:\.\d+)? )|^[IWEF]\d{4} "
    r"|^(?:trce|dbug|info|warn|fail|crit): [\w.]{1,200}\[\d+\]$|^\S{1,60} \S{1,40} \S{1,60} \[\d\d/[A-Z][a-z]{2}/\d{4}:"
)
"""How the lines of a log begin: with a time, behind the name of a service or a client's address too."""
_LEVELS = ("TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "ERROR", "FATAL", "CRITICAL", "SEVERE", "level=")
_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b|\blevel=\w+")
_REPORT = re.compile(
    r"^(?:={7,} .{1,200} ={3,}$|(?=.{60})={3,} .{1,200} ={3,}$|_{3,} .{1,200} _{3,}$"
    r"|\S+::\S+ (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL)|(?:not )?ok \d+|--- (?:PASS|FAIL)"
    r"|test \S+ \.\.\. (?:ok|FAILED)|\s*(?:✓|✔|✕|✗|×) |(?:PASS|FAIL)[ :]|Traceback \(most recent call last\)|E   )"
)
_WRITTEN = re.compile(
    r"\[ *\d{1,7}\.\d{3,6}\] \S|\[(?:[A-Z]{3,10}|info|warn|error|debug)\] \S"
    r"|#\d{1,3} (?:\d+\.\d+ |\[|[A-Z]{4,})|==\d+==(?: |$)|> Task :"
    r"|\s*\d{1,9} +\d{1,9}\.\d{3,9} +\S{2,60} (?:→|->|>) \S"
    r"|npm (?:ERR!|WARN|error|warn|http|verb|sill|info) |\[(?:\d{1,3}%|\d+/\d+)\] \S"
    r"|(?:\[pid +\d+\] |\d+ +)?(?:[\d:.]+ )?(?:[a-z_]\w*\(.*\) += (?:-?\d|\?)|[-+]{3} .* [-+]{3}$|<\.\.\. \w+ resumed)"
    r"|(?:Get|Hit|Ign|Fetched|Selecting|Preparing|Unpacking|Setting up):?\d* \S"
    r"|(?:ok|changed|skipping|fatal|failed|included): \[|(?:TASK|PLAY|RUNNING HANDLER) \["
    r"|(?:Collecting|Downloading|Requirement already satisfied:?) \S"
    r"|\S+: (?:Creating|Reading|Refreshing state|Still creating|Creation complete|Modifying|Destroying)\b"
)
"""How lines of a program begin that writes no time: kernel, console, build, system calls, installer."""
_PROMPT = re.compile(r">>> |In \[\d+\]: |irb\(|\w+@[\w.-]+:\S*[$#] |(?:sqlite|mysql|mongo|redis \S+|\w+=[#>])>? ")
_DECLARING = ("def ", "async def ", "class ", "@")
_DECLARED = 0.04
"""Share of lines that declare something in Python, from which on it is code however much of it are parameters."""
_FEWEST_HEADINGS, _ITEMS = 2, 0.3
_OPENING = ("def ", "class ", "module ", "function ", "if ")
_LONG_LINES = 500
"""Code points of a line, in the mean, from which code is minified."""
_NEARLY_ALL = 0.8
_COMPOSED = re.compile(r"[\w./-]{1,60} +\| ")
_MOST_SERVICES = 40
_HEADING = re.compile(r"#{2,6} [^\s#=-]")
_MARKDOWN = re2.compile(
    rb"(?m)^(?:#{2,6} \S|\s*\d+\. \S|```|\|.{1,400}\|$|\[[^\]]{1,80}\]: )"
    rb"|\[[^\]\n]{1,80}\]\([^)\n]{1,200}\)|\*\*\S"
)
_ANY_HEADING = re.compile(r"#{1,6} [^\s#=-]")
_FEWEST_TITLES = 3
_LIST = re.compile(r"\s*[*+-] \S|> ")
"""What Markdown has in common with shells, build tools, mail and trees of all kinds."""
_CODE = re.compile(
    r"^(?:\t[@$]\S|\s*(?:[a-z_][\w.:]*\(|(?:async )?def \w+\(|class (?:[A-Z_$]|\w+ ?[:({<])|import [\w.{*\"']"
    r"|from [\w.]+ import |#include [<\"]|package \w|using [\w.]+;|func [\w(]"
    r"|(?:pub(?:\([a-z]+\))? )?(?:fn|struct|enum|impl|trait|mod|use) \w|(?:export )?(?:default )?(?:async )?function\b"
    r"|(?:export )?(?:const|let|var) \w+ ?[:=]|(?:public|private|protected|static) [\w<]|return\b"
    r"|if ?\(.*\) ?\{|if .*:$|for ?\(.*\{?"
    r"|for .* in .*:$|else ?\{|else:|\} else|elif .*:$|try:|except\b.*:$|@\w+|self\.\w+|this\.\w+"
    r"|[})\]]+[;,]?$|\S.{2,200}[;{]$|//|/\*\*?|\* |\*\*(?: |$)|#\s*(?:define|include|if|ifn?def|endif|undef|pragma)\b"
    r"|(?:local|export|declare|readonly|set|unset) [\w-]+|(?:fi|done|esac|end|;;|then|do|begin)$|\[\[? \S"
    r"|if \[|[A-Z_]{2,}=\S"
    r"|[\w:-]+ ?\(\) ?\{|(?:my|our|use|sub|require|def|val|var|fun|object|trait|message|scalar|extend) [\w$@%({\"'/]"
    r"|\\(?:begin|end|item|(?:sub)*section|label|newcommand|usepackage|documentclass)\b|%(?: |$)"
    r"|[0-9a-f]{3,16}:\t|\.(?:globl|text|data|section|align|type|size|cfi_\w+)\b"
    r"|(?:mov|push|pop|call|lea|jmp|ret)[lqbw]?\b"
    r"|\((?:def\w*|define|ns|let) |;;|[\w']+ :: \S|(?:data|newtype|module|instance|where|deriving) ?"
    r"|=(?:head\d|item|cut|over|back)\b|[A-Za-z]+-[A-Z]\w+ |\$[\w:]+ ?[-+.|]?= "
    r"|(?:SELECT|INSERT INTO|CREATE|ALTER|DROP|SET|COPY|GRANT|COMMENT ON|BEGIN|COMMIT)\b))"
)
_DIRECTIVE = re.compile(r"\s*(?:[a-z_]\w{1,60}(?: [^;{}=()]{1,200})? ?[;{]|\})\s*(?:#.*)?$")
"""A line of the settings of web servers."""
_FACT = re.compile(r"[a-zA-Z_][\w.-]{1,80}:(?!//)\S[^:]{0,120}$")
"""A name and a value as servers tell of themselves."""
_SETTING = re.compile(
    r"^\s*(?:- )?[\w.$/\"'@-]{1,80}(?::(?: |$)| ?= ?\S)|^\s*- \S|^\[{1,2}[\w.\"' :/-]{1,120}\]{1,2}$|^---$|^\s*[#;] ?"
)
_SECTION = re.compile(r"^\s*(?:\[{1,2}[\w.\"' :/-]{1,120}\]{1,2}|(?:- )?[\w.$/\"'@-]{1,80}:)\s*$")
_ASSIGNED = re.compile(r"^\s*[\w.-]{1,80} ?= ?\S")
_PLAN = re.compile(r"^  # \S+ (?:will be|must be|is tainted)", re.M)
_FRAME = re.compile(
    r"^\s+at \S|^\s+File \"|^Traceback \(|^goroutine \d|^\s+\d+: \S+::|^\S+\(0x|^\t/\S+:\d+|^Caused by: "
    r"|^\s+\.\.\. \d+ more|^#\d+ +(?:0x[0-9a-f]+ in |[\w:]+ \((?:\) |.*=))|^(?:\S+\.)?\w*(?:Error|Exception)\b"
)
_URL = re.compile(r"https?://\S+$")
_TOP = re.compile(r"(?:\A|\n[ \t]*\n)# [^\n]+\n[ \t]*\n")
_HIT_UNDER_PATH = re.compile(r"^\d{1,7}[:-]")


@dataclass(frozen=True)
class Seen:
    """What a text is; of JSON the minified document, of lines of JSON as one array.

    Attributes:
        wrapped: what the text had to be freed from to be seen so, e.g. "JSON string to text"; `""` = nothing.
        inner: the text inside, where it is no JSON.
    """

    kind: Kind
    document: bytes | None = None
    wrapped: str = ""
    inner: str = ""


def look(text: str) -> Seen:
    """The kind of a text. Linear in the sample, apart from one strict parse of what starts like JSON."""
    text = text.removeprefix("\ufeff")
    head = text[:_SAMPLE_CHARS].lstrip()
    if head[:1] in ("{", "["):
        document = jsontext.parse(text)
        if document is not None:
            return Seen(Kind.JSON, document)
        if jsontext.parse(head.split("\n", 1)[0]) is not None:
            if len(text) > _MOST_PARSED:
                return Seen(Kind.LOG)
            document = jsontext.parse_lines(text)
            if document is not None:
                return Seen(Kind.NDJSON, document)
            lines, _, last = text.rstrip().rpartition("\n")
            document = jsontext.parse_lines(lines) if jsontext.is_cut_off(last) else None
            if document is not None:
                return Seen(Kind.NDJSON, document, wrapped="a last line that was cut off")
        document = jsontext.parse_documents(text) if len(text) <= _MOST_PARSED else None
        if document is not None:
            return Seen(Kind.JSON, document, wrapped="JSON documents to an array")
        printed = as_json(text.strip())
        document = jsontext.parse(printed) if printed is not None else None
        if document is not None:
            return Seen(Kind.JSON, document, wrapped="Python values to JSON")
        whole = jsontext.completed(text) if len(text) <= _MOST_PARSED else None
        document = jsontext.parse(whole) if whole is not None else None
        if document is not None:
            return Seen(Kind.JSON, document, wrapped="JSON that was cut off, closed")
    if head[:2] in ("**", "-["):
        written = rows_as_json(text)
        document = jsontext.parse(written) if written is not None else None
        if document is not None:
            return Seen(Kind.JSON, document, wrapped="rows written out to JSON")
    if head[:1] == '"' and (inner := jsontext.text_in(text)) is not None:
        seen = look(inner)
        freed = ", ".join(filter(None, ("JSON string to text", seen.wrapped)))
        return replace(seen, wrapped=freed, inner="" if seen.document else seen.inner or inner)
    flat = one_line_rows(text, head) if '"' in head else None
    if flat is not None and _by_lines(flat, flat[:_SAMPLE_CHARS]) is Kind.TABLE:
        return Seen(Kind.TABLE, wrapped="line breaks in cells", inner=flat)
    return Seen(_by_lines(text, head))


def detect(text: str) -> Kind:
    """The kind alone."""
    return look(text).kind


def _by_lines(text: str, head: str) -> Kind:
    """The kind of a text that is no JSON, from samples of its lines."""
    if looks_like_html(head):
        return Kind.HTML
    if head.startswith(("#!/", "#! /")):
        return Kind.CODE
    lines = _sample(text)
    if not lines:
        return Kind.PROSE
    sample = "\n".join(lines)
    if (
        "@@ -" in sample
        and (head.startswith(_DIFF_HEADS) or "\ndiff --git " in sample or "\n+++ " in sample)
        and _HUNK.search(sample)
        and (head.startswith(_DIFF_HEADS) or often(lines, _IN_DIFF.match, _MOSTLY_DIFF * len(lines)))
    ):
        return Kind.DIFF
    if head.startswith("commit ") and _COMMIT.match(head) and len(_COMMIT.findall(sample)) >= 2:
        return Kind.COMMITS
    if "\nMessage: " in sample and len(COMMIT_TOLD.findall(sample)) >= 2:
        return Kind.COMMITS
    count = len(lines)
    if sample.count("\n# Query_time: ") >= _FEWEST_TITLES:
        return Kind.LOG
    if count >= 4 and often(lines, _BLAMED.match, 0.9 * count):
        return Kind.BLAME
    if count >= 12 and often(lines, _COMMIT_LINE.match, 0.75 * count):
        return Kind.COMMITS
    if reports(unstamped(lines)):
        return Kind.FINDINGS
    if _minified(text):
        return Kind.MINIFIED
    if often(lines, _PROMPT.match, max(8, 0.3 * count)):
        return Kind.REPORT
    if often(lines, _FILE.match, max(8, 0.6 * count)):
        return Kind.FILES
    if often(lines, lambda line: _GREP.match(line) and not _STAMP.match(line), 0.5 * count):
        return Kind.GREP
    if often(lines, _HIT_UNDER_PATH.match, 0.5 * count) and any(map(_PATH.fullmatch, lines[:3])):
        return Kind.GREP
    if often(lines, _REPORT.match, max(2, 0.15 * count)):
        return Kind.REPORT
    leveled = any(word in sample for word in _LEVELS)
    begins = (lambda line: _STAMP.match(line) or _LEVEL.search(line, 0, 120)) if leveled else _STAMP.match
    if often(lines, begins, 0.4 * count):
        return Kind.LOG
    if often(lines, _FRAME.match, 0.4 * count):
        return Kind.LOG
    if often(lines, _WRITTEN.match, 0.6 * count) or _composed(lines):
        return Kind.LOG
    if count >= 20 and "  # " in sample and len(_PLAN.findall(sample)) * 40 >= count:
        return Kind.CONFIG
    if count >= 20 and often(
        lines, lambda line: "/" in line and (_PATH.fullmatch(line) or _URL.match(line)), 0.8 * count
    ):
        return Kind.PATHS
    framed = plain(lines)
    if delimiter(framed) or aligned(framed) or preamble(framed) or indexed(framed):
        return Kind.TABLE
    if often(lines, _DIRECTIVE.match, 0.9 * count) or often(lines, _FACT.match, 0.85 * count):
        return Kind.CONFIG
    if often(lines, _SETTING.match, 0.85 * count) and (
        any(map(_SECTION.match, lines)) or often(lines, _ASSIGNED.match, 0.2 * count)
    ):
        return Kind.LOG if _one_name(lines) else Kind.CONFIG
    # A star opens a line of a comment, but an item of a list where no comment opens.
    stars = () if "/*" in sample and any(line.lstrip().startswith("/*") for line in lines) else ("* ",)
    some = lines[:: 1 + (count > _SAMPLE_LINES // 2)]
    code = sum(1 for line in some if _CODE.match(line) and not line.lstrip().startswith(stars)) / len(some)
    declared = sum(1 for line in some if line.lstrip().startswith(_DECLARING)) / len(some)
    headings = 0
    if "# " in sample:
        headings = len([*filter(_HEADING.match, lines)]) + len(_TOP.findall(head))
    if written_out(lines) and not ((code >= 0.2 or declared >= _DECLARED) and _in_blocks(lines)):
        # What changed, item by item, names what it changed.
        titled = head.startswith("# ") or often(lines, _LIST.match, _ITEMS * count)
        items = headings > _FEWEST_HEADINGS and titled
        return Kind.MARKDOWN if items else Kind.RECORDS
    marks = len(_MARKDOWN.findall(sample.encode("ascii", "replace"))) / count
    if marks >= _FEWEST_MARKS or headings:
        marks += len([*filter(_LIST.match, lines)]) / count
    if head.startswith("# ") and _slashed(lines):
        return Kind.MARKDOWN
    if (code >= 0.2 or declared >= _DECLARED) and (marks < 0.15 or code > 2 * marks) and (headings < 3 or code > 0.4):
        # A program that tells what it imports says nothing else; source code does.
        imports = sum(1 for line in some if line.startswith("import ")) / len(some)
        return Kind.CODE if code - imports >= _BESIDE_IMPORTS or count < _SAMPLE_LINES // 2 else Kind.LOG
    if headings >= 2 or marks >= 0.15:
        return Kind.MARKDOWN
    return Kind.TABLE if headless(lines) else Kind.PROSE


def _minified(text: str) -> bool:
    """Whether lines of code are so long that nobody wrote them."""
    middle = len(text) // 2
    sample = text[middle : middle + _SAMPLE_CHARS]
    if (sample.count("\n") + 1) * _LONG_LINES > len(sample):
        return False
    marks = sample.count("{") + sample.count("}") + sample.count(";") + sample.count("(")
    return marks >= 0.04 * len(sample) and sample.count(";") >= 0.005 * len(sample)


def _in_blocks(lines: list[str]) -> bool:
    """Whether blocks open at the end of lines and close at the beginning of others, as in code, or as in Python."""
    opened = sum(1 for line in lines if line.endswith(("{", "(", " do")) or line.lstrip().startswith(_OPENING))
    closed = sum(1 for line in lines if line.lstrip().startswith(("}", ")", "end")))
    python = sum(1 for line in lines if _PYTHON.match(line))
    return max(min(opened, closed), python) >= max(2, 0.04 * len(lines))


def _slashed(lines: list[str]) -> bool:
    """Whether lines begin with `# ` and others with `//`, so that one of both opens no comment: code within a text."""
    titles = sum(1 for line in lines if _ANY_HEADING.match(line))
    return titles >= _FEWEST_TITLES and sum(1 for line in lines if line.lstrip().startswith("//")) >= _FEWEST_TITLES


def _one_name(lines: list[str]) -> bool:
    """Whether nearly all lines set the same name, as entries do and settings do not."""
    names = Counter(line.partition("=")[0].strip() for line in lines if "=" in line)
    return bool(names) and names.most_common(1)[0][1] >= _NEARLY_ALL * len(lines)


def _composed(lines: list[str]) -> bool:
    """Whether several services take turns, each line behind the name of one."""
    if not often(lines, _COMPOSED.match, 0.9 * len(lines)):
        return False
    return 1 < len({line.split("|", 1)[0].strip() for line in lines}) <= min(_MOST_SERVICES, len(lines) // 4)


def looks_like_html(text: str) -> bool:
    """A document, or a fragment in which tags are dense."""
    sample = text[:_SAMPLE_CHARS]
    if "<" not in sample or ">" not in sample:
        return False
    stripped = sample.lstrip()
    if stripped.startswith(("<?xml", "<rss", "<feed")) and not _HTML.search(stripped[:2000]):
        return False
    if _HTML.search(stripped[:2000]) and stripped.startswith("<"):
        return True
    return stripped.startswith("<") and len(_TAG.findall(sample)) * 120 >= len(sample)


def _sample(text: str) -> list[str]:
    """Non-blank lines of the head, the middle and the tail."""
    third = _SAMPLE_CHARS
    if len(text) <= 3 * third:
        found = [line for line in text.splitlines() if line.strip()]
    else:
        middle = len(text) // 2
        found = []
        for part in (text[:third], text[middle : middle + third], text[-third:]):
            lines = part.splitlines()
            found += [line for line in lines[1 if found else 0 : -1] if line.strip()]
    if len(found) > _SAMPLE_LINES:
        half = _SAMPLE_LINES // 2
        # At uneven steps: the lines of records come round at even ones.
        step = (len(found) - half) / half
        found = found[:half] + [found[half + int((at + at * _UNEVEN % 1) * step)] for at in range(half)]
    return [_shallow(line[:500]) if line.startswith(_DEEP) else line[:500] for line in found]


def _shallow(line: str) -> str:
    """A line that is indented far, indented less: how far says nothing, and every pattern would walk through it."""
    return _DEEP + line.lstrip(" ")
