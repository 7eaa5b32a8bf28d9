"""HTML to Markdown: a parser that forgives everything, and an iterative walk, so that no page is too deep."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from actors.compressor.pages import valid

_MOST_CHARS = 8_000_000
_DEEPEST = 500
_PIECE = 500_000
_STARTS = ("<h1", "<h2", "<h3", "<section", "<article", "<p>", "<p ", "<div")
_WHOLE = (
    ("<!--", "-->"),
    *(
        (f"<{name}", f"</{name}")
        for name in ("script", "style", "template", "svg", "pre", "textarea", "table", "ul", "ol")
    ),
)
_LINE, _BLOCK = "\x00l", "\x00b"
_DROPPED = frozenset(
    {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "-comment", "!doctype"}
)
_BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "nav",
        "aside",
        "ul",
        "ol",
        "dl",
        "table",
        "form",
        "fieldset",
        "figure",
        "figcaption",
        "blockquote",
        "details",
        "address",
        "body",
        "html",
    ]
)
_LINES = frozenset({"tr", "dt", "dd", "summary", "caption", "option", "thead", "tbody"})
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "tt": "`", "del": "~~"}
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_SELF_CLOSING = _VOID | frozenset(["p", "li", "td", "th", "tr", "dt", "dd", "option", "colgroup", "thead", "tbody"])
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,15})")
_ANY_TAG = re.compile(r"<(?:!--[^\n]*?-->|[/!?a-zA-Z][^<>]*>)")
_BULLET = re.compile(r" *(?:- |\d+\. |\|)")
_SPACE = re.compile(r"[ \t\r\n\f]{2,}|[\t\r\n\f]")
"""White space that is not one space already."""


def to_markdown(html: str) -> str:
    """The visible content of a page as Markdown: headings, lists, tables, fences and links, no scripts and styles.

    Pages that are too big or nest too deep for the parser lose their tags only.
    """
    html = valid(html).replace("\x00", "\ufffd")
    if len(html) > _MOST_CHARS or _depth(html) > _DEEPEST:
        return _ANY_TAG.sub(" ", html).strip()
    walk = _Walk()
    start = 0
    while start < len(html):
        end = _boundary(html, start)
        tree = LexborHTMLParser(html[start:end])
        title = tree.css_first("title") if not start else None
        untitled = tree.css_first("h1") is None and html.find("<h1", end) < 0
        if title is not None and untitled and title.text().strip():
            walk.out += ["# ", _SPACE.sub(" ", title.text()).strip(), _BLOCK]
        if tree.root is not None:
            walk.run(tree.root)
        walk.out.append(_BLOCK)
        start = end
    return _join(walk.out)


def _boundary(html: str, start: int) -> int:
    """Where a piece ends that can be parsed by itself, since a tree takes ten times the memory of its text: before a
    block outside of what must stay together. The end of the page, where it is short or has no such place."""
    end = start + _PIECE
    while end + _PIECE < len(html):
        for tag in _STARTS:
            at = html.rfind(tag, end - _PIECE // 2, end)
            if at > 0 and all(
                html.rfind(opened, start, at) <= html.rfind(closed, start, at) for opened, closed in _WHOLE
            ):
                return at
        end += _PIECE // 2
    return len(html)


def _depth(html: str) -> int:
    """An upper bound of how deep elements nest: opened and not yet closed."""
    depth = deepest = 0
    for tag in _TAG.finditer(html):
        close, name = tag.groups()
        if close:
            depth -= depth > 0
        elif name.lower() not in _SELF_CLOSING:
            depth += 1
            deepest = max(deepest, depth)
    return deepest


class _Walk:
    """Depth first over the tree with a stack of its own; `out` collects text and breaks."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.lists: list[int] = []  # per open list: 0 = bullets, else the next number
        self.preformatted = 0
        self.rows: list[int] = []  # per open table: rows written so far

    def run(self, root: LexborNode) -> None:
        stack: list[tuple[LexborNode, int]] = [(root, -1)]
        while stack:
            node, opened_at = stack.pop()
            if opened_at >= 0:
                self.leave(node, opened_at)
                continue
            tag = node.tag or ""
            if tag == "-text":
                self.text(node.text_content or "")
            elif tag not in _DROPPED:
                stack.append((node, len(self.out)))
                self.enter(node, tag)
                child = node.last_child
                while child is not None:
                    stack.append((child, -1))
                    child = child.prev

    def text(self, text: str) -> None:
        if not self.preformatted and ("  " in text or not text.isprintable()):
            text = _SPACE.sub(" ", text)
        if text:
            self.out.append(text)

    def enter(self, node: LexborNode, tag: str) -> None:
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.out += [_BLOCK, "#" * int(tag[1]) + " "]
        elif tag == "pre":
            self.out.append(_BLOCK)
            self.preformatted += 1
        elif tag in _MARKS and not self.preformatted:
            self.out.append("")
        elif tag == "br":
            self.out.append("\n" if self.preformatted else _LINE)
        elif tag == "hr":
            self.out += [_BLOCK, "---", _BLOCK]
        elif tag == "li":
            self.out += [_LINE, self.bullet()]
        elif tag == "img":
            self.image(node)
        elif tag in _BLOCKS:
            self.out.append(_LINE if tag in ("ul", "ol") and self.lists else _BLOCK)
            if tag in ("ul", "ol"):
                self.lists.append(1 if tag == "ol" else 0)
            if tag == "table":
                self.rows.append(0)
        elif tag in _LINES:
            self.out.append(_LINE)

    def leave(self, node: LexborNode, opened_at: int) -> None:
        tag = node.tag or ""
        if tag in ("td", "th"):
            self.cell(opened_at)
        elif tag == "tr":
            self.row(opened_at)
        elif tag == "a" and not self.preformatted:
            self.link(node, opened_at)
        elif tag == "pre":
            self.preformatted -= 1
            words = self.take(opened_at).strip("\n ").rstrip()
            fence = "```" if "```" not in words else "~~~~"
            self.out += [_BLOCK, f"{fence}\n{words}\n{fence}", _BLOCK] if words else []
        elif tag in _MARKS and not self.preformatted:
            inside = self.take(opened_at)
            mark = _MARKS[tag]
            self.out.append(
                f"{mark}{inside.strip()}{mark} "
                if inside.strip() and inside.endswith(" ")
                else f"{mark}{inside}{mark}"
                if inside.strip()
                else inside
            )
        elif tag in _BLOCKS or (len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()):
            if tag in ("ul", "ol") and self.lists:
                self.lists.pop()
            if tag == "table" and self.rows:
                self.rows.pop()
            self.out.append(_LINE if tag in ("ul", "ol") and self.lists else _BLOCK)

    def take(self, opened_at: int) -> str:
        """The text written since an element opened, on one line where it had breaks."""
        parts = [" " if part in (_LINE, _BLOCK) else part for part in self.out[opened_at:]]
        del self.out[opened_at:]
        return "".join(parts)

    def cell(self, opened_at: int) -> None:
        """A cell of a data table; one that holds blocks belongs to a layout and stands as it is."""
        if _BLOCK in self.out[opened_at:]:
            self.out.append(_BLOCK)
            return
        self.out.append(f"| {' '.join(self.take(opened_at).split())} ")

    def row(self, opened_at: int) -> None:
        cells = [part for part in self.out[opened_at:] if part not in (_LINE, _BLOCK) and part.strip()]
        if not cells or not all(part.startswith("| ") for part in cells):
            return
        del self.out[opened_at:]
        if any(len(part) > 3 for part in cells):
            self.out += [_LINE, "".join(cells) + "|", _LINE]
            if self.rows and not self.rows[-1]:
                self.out += ["|" + "---|" * len(cells), _LINE]
            if self.rows:
                self.rows[-1] += 1

    def link(self, node: LexborNode, opened_at: int) -> None:
        target = (node.attributes.get("href") or "").strip()
        if not target or target.startswith(("javascript:", "data:")):
            return
        text = self.take(opened_at).strip()
        self.out.append(f"[{text}]({target})" if text else "")

    def image(self, node: LexborNode) -> None:
        source = (node.attributes.get("src") or "").strip()
        words = (node.attributes.get("alt") or "").strip()
        if words or source:
            self.out.append(f"![{words}]({'' if source.startswith('data:') else source})")

    def bullet(self) -> str:
        indent = "  " * max(0, len(self.lists) - 1)
        if self.lists and self.lists[-1]:
            self.lists[-1] += 1
            return f"{indent}{self.lists[-1] - 1}. "
        return f"{indent}- "


def _join(parts: list[str]) -> str:
    """Text with breaks resolved: any run of them becomes one line end, or one blank line."""
    out: list[str] = []
    pending = ""
    for part in parts:
        if part in (_LINE, _BLOCK):
            pending = _BLOCK if _BLOCK in (pending, part) else _LINE
            continue
        words = part.lstrip(" ") if pending and not _BULLET.match(part) else part
        if (pending and not words) or (part == " " and out and out[-1].endswith((" ", "\n"))):
            continue
        if pending:
            while out and not out[-1].strip(" "):
                out.pop()
            if out:
                out[-1] = out[-1].rstrip(" ")
                out.append("\n\n" if pending == _BLOCK else "\n")
            pending = ""
        out.append(words)
    return "".join(out).strip()
