"""What the arguments of a call are about: paths, URLs, shell commands, SQL, JQL, search operators, plain words.

Each reader returns plain words; `query` turns them into terms.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from actors.surfacer.vocabulary import GENERIC_FOLDERS, PLAIN_COMMANDS, SEARCH_OPERATORS, WORK_FOLDERS

PATH_KEYS = ("path", "paths", "file", "files", "filepath", "file_path", "filename")
SEMANTIC_KEYS = (
    "query", "q", "search", "url", "description", "title", "name", "topic", "keyword", "keywords", "pattern", "text",
    "prompt", "question", "message", "command", "sql", "jql",
    # What servers of databases, clusters, chats and stores call the thing that is asked about.
    "table", "table_name", "database", "kind", "resourcetype", "namespace", "service", "bucket", "channel",
    "channel_name",
)  # fmt: skip
PROJECT_KEYS = ("repo", "repository", "project", "repo_path", "cwd", "workspace", "working_directory")
LONGEST_VALUE = 2000
_MOST_VALUES = 40
_DEEPEST = 4

_SQL = re.compile(r"^\s*(?:select|insert\s+into|update|delete\s+from|with|create\s+table|alter\s+table)\b", re.I)
_EXPLAIN = re.compile(
    r"^\s*explain\s+(?:\([^)]*\)\s*|analyze\s+|verbose\s+)*(?=(?:select|insert|update|delete|with)\b)", re.I
)
_SQL_WORDS = re.compile(
    r"\b(?:select|from|where|and|or|not|in|is|null|join|left|right|inner|outer|cross|full|on|group|order|by|having|limit"
    r"|offset|insert|into|values|update|set|delete|create|alter|drop|table|view|as|asc|desc|distinct|union|all|case|when"
    r"|then|else|end|between|like|ilike|exists|with|using|returning|count|sum|avg|min|max|coalesce|cast|interval|now"
    r"|date_trunc|extract|over|partition|row_number|varchar|integer|text|boolean|timestamp)\b",
    re.I,
)
_JQL = re.compile(
    r"\b(?:project|status|assignee|issuetype|priority|sprint|resolution|labels?|text|summary)\s*(?:!?[=~]|\bin\b)", re.I
)
_JQL_PROJECT = re.compile(r"\bproject\s*=\s*[\"']?([\w-]+)", re.I)
_JQL_MATTER = re.compile(
    r"\b(?:text|summary|description|comment|labels?|component)\s*(?:[=~]|\bin\b)\s*(\"[^\"]*\"|'[^']*'|\([^)]*\)|[\w-]+)",
    re.I,
)
_OPERATOR = re.compile(r"(?<![\w/])-?([a-z]{2,16}):(\"[^\"]*\"|[^\s\"]+)", re.I)
_MATTER_OPERATORS = ("label", "topic", "path", "filename", "symbol", "subject", "intitle", "title")
_PROJECT_OPERATORS = ("repo", "project", "repository")
_SHELL_WORD = re.compile(r"^[\w./~:@%+,=-]+$")
_ASSIGNMENT = re.compile(r"^[A-Z_][A-Z0-9_]*=")
_FOREIGN = frozenset(
    {"node_modules", "site-packages", "dist-packages", "vendor", ".venv", "venv", ".cargo", "third_party"}
)
_FENCE = frozenset({"|", "||", "&&", ";", "&"})


@dataclass(frozen=True, slots=True)
class PathWords:
    """A path taken apart.

    Attributes:
        project: the folder below the work folder of an absolute path, else empty.
        folders: what is left of the folders, generic ones dropped, outermost first.
        file: the file name without its extension; empty when the name is generic.
        is_file: the last name has an extension, so the path names a matter and not only a place.
        tokens: how many words the whole path holds, generic ones and the extension included; 0 for other people's code
            (installed packages), about which nobody keeps notes.
    """

    project: str
    folders: tuple[str, ...]
    file: str
    is_file: bool
    tokens: int


def split_path(value: str) -> PathWords:
    """Cuts the work folder, takes the repository as the project, drops generic folders."""
    path = value.strip().removeprefix("file://").replace("\\", "/")
    is_absolute = path.startswith(("/", "~")) or re.match(r"^[A-Za-z]:/", path) is not None
    names = [name for name in path.split("/") if name not in ("", ".", "..", "~") and not name.endswith(":")]
    written = names
    project = ""
    if is_absolute:
        project, names = _cut_work_folder(names)
    if not names or any(name in _FOREIGN for name in names):
        return PathWords(project, (), "", False, 0)
    file, dot, extension = names[-1].lstrip(".").rpartition(".")
    if not dot or not extension.isalnum() or len(extension) > 8:
        file, extension = names[-1], ""
    count = (
        len(written) + (1 if extension else 0) + sum(len(re.findall(r"[_\-]|(?<=[a-z])(?=[A-Z])", n)) for n in names)
    )
    folders = tuple(name for name in names[:-1] if name.casefold() not in GENERIC_FOLDERS)
    return PathWords(project, folders, "" if file.casefold() in GENERIC_FOLDERS else file, bool(extension), count)


def file_of(path: str) -> str:
    """`folder/name.ext` of a path to a file, as a note would name it; empty for a folder, a bare name, and what every
    project has (`src/index.ts`)."""
    names = path.strip().replace("\\", "/").split("/")[-2:]
    parts = split_path(path)
    if len(names) < 2 or not all(names) or not parts.is_file:
        return ""
    return "/".join(names) if parts.file or names[0].casefold() not in GENERIC_FOLDERS else ""


def values_of(arguments: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(key, text) for each string under one of `keys`, lists and nested objects walked; bounded."""
    found = 0
    for key, value in _walk(arguments, "", 0):
        if key.casefold() in keys and value.strip():
            yield key.casefold(), value[:LONGEST_VALUE]
            found += 1
            if found >= _MOST_VALUES:
                return


def project_of(arguments: Mapping[str, object]) -> str:
    """The project named by `repo`-like arguments; the last part of `owner/name` or of a path."""
    for _, value in values_of(arguments, PROJECT_KEYS):
        name = value.strip().rstrip("/").removesuffix(".git")
        if "/" in name or "\\" in name:
            parts = split_path(name)
            name = parts.project or re.split(r"[/\\]", name)[-1]
        if name and len(name) <= 100:
            return name
    return ""


def semantic_text(key: str, value: str) -> tuple[str, str]:
    """(words, project) of one argument, read in the language the argument is written in."""
    if key == "command":
        return _shell(value)
    if key == "url" or re.match(r"^https?://\S+$", value.strip()):
        return _url(value.strip())
    value = _EXPLAIN.sub("", value)
    if _SQL.match(value):
        return _SQL_WORDS.sub(" ", re.sub(r"'[^']*'", " ", value)), ""
    if _JQL.search(value):
        project = _JQL_PROJECT.search(value)
        return " ".join(m[1] for m in _JQL_MATTER.finditer(value)), project[1] if project else ""
    if key == "pattern":
        return re.sub(r"\\[a-zA-Z]|[\\^$*+?()\[\]{}|]", " ", value), ""
    return _operators(value)


def _cut_work_folder(names: list[str]) -> tuple[str, list[str]]:
    rest = list(names)
    if rest and rest[0].casefold() in ("home", "users") and len(rest) > 1:
        rest = rest[2:]
    while rest and rest[0].casefold() in WORK_FOLDERS:
        rest = rest[1:]
    is_folder = len(rest) == 1 and len(rest) < len(names) and "." not in rest[0]
    if len(rest) > 1 or is_folder:
        return rest[0], rest[1:]
    return "", rest


def _walk(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for name, inner in list(value.items())[:_MOST_VALUES]:
            yield from _walk(inner, str(name), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for inner in value[:_MOST_VALUES]:
            yield from _walk(inner, key, depth + 1)


def _url(value: str) -> tuple[str, str]:
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        return value, ""
    labels = [
        label for label in host.split(".")[:-1] if label not in ("www", "docs", "api", "co", "developer", "github")
    ]
    segments = [unquote(s) for s in parts.path.split("/") if s and s.casefold() not in GENERIC_FOLDERS]
    project = ""
    if host in ("github.com", "gitlab.com", "bitbucket.org", "raw.githubusercontent.com") and len(segments) >= 2:
        project = segments[1].removesuffix(".git")
        segments = [
            s for s in segments[2:] if s not in ("issues", "pull", "pulls", "blob", "tree", "commit", "raw", "wiki")
        ]
        labels = []
    words = [re.sub(r"\.[a-z]{1,5}$", "", segment) for segment in segments]
    return " ".join([*labels, *words, unquote(parts.fragment)]), project


def _operators(value: str) -> tuple[str, str]:
    project = ""
    kept: list[str] = []

    def take(match: re.Match[str]) -> str:
        nonlocal project
        name, operand = match[1].casefold(), match[2].strip('"')
        if operand.startswith("//"):
            return match[0]
        if name in _PROJECT_OPERATORS:
            project = operand.rsplit("/", 1)[-1]
        elif name in _MATTER_OPERATORS:
            kept.append(operand)
        elif name not in SEARCH_OPERATORS:
            return match[0]
        return " "

    return " ".join([_OPERATOR.sub(take, value), *kept]), project


def _shell(value: str) -> tuple[str, str]:
    try:
        lexer = shlex.shlex(value, posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = value.split()
    project = ""
    kept: list[str] = []
    starts = True
    for word in words[:200]:
        if word in _FENCE:
            starts = True
            continue
        is_command = starts and not _ASSIGNMENT.match(word)
        starts = False
        if word.startswith("-") or word.casefold() in PLAIN_COMMANDS or _ASSIGNMENT.match(word):
            starts = starts or word == "sudo"
            continue
        if is_command and "/" not in word and " " not in word:
            kept.append(word)
        elif "/" in word and _SHELL_WORD.match(word):
            parts = split_path(word)
            project = project or parts.project
            kept += [*parts.folders, parts.file]
        else:
            kept.append(re.sub(r"\\[a-zA-Z]|[\\^$*+?()\[\]{}|]", " ", word))
    return " ".join(kept), project
