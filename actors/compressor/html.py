"""HTML to Markdown: a parser that forgives everything, and a walk over what it makes of the page.

The parser writes its tree down again as HTML without a fault: every element closed, every attribute quoted. That is
read by its tags, piece by piece, so that a page takes no more memory than its Markdown and one piece's tree.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

from actors.compressor.html_pieces import is_bearable, pieces
from actors.compressor.pages import valid

_MOST_CHARS = 8_000_000
_HELD = 2_000
"""Parts of a page that are held before they are joined."""
_TRIMMED = 8
_CUT, _ON = "<!--a piece of the page ends-->", "<!--a piece of the page begins-->"
_LINE, _BLOCK = "\x00l", "\x00b"
_DROPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head"})
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
_TAKING = frozenset({"a", "pre", "td", "th", "tr", "strong", "b", "em", "i", "code", "tt", "del"})
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`", "tt": "`", "del": "~~"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(10)}
_ANCHORS = frozenset("§¶#🔗∞")
_KNOWN = frozenset({"a", "pre", "td", "th", "tr", "hr", "li", "img", *_BLOCKS, *_LINES, *_MARKS, *_HEADINGS})
"""What becomes more than its text."""
_VOID = frozenset([
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link",
    "meta", "param", "source", "track", "wbr",
])  # fmt: skip
_ATTRIBUTE = r"\s[^\s>][^\s=>]*+=\"[^\"]*+\""
_RAW = "script|style|xmp|iframe|noembed|noframes|plaintext"
_TOKEN = re.compile(
    rf"<(?:(?!(?:{_RAW})[\s>])(?:"
    rf"tr(?:{_ATTRIBUTE})*+>((?:\s*+<t[dh](?:{_ATTRIBUTE})*+>[^<]*+</t[dh]>)++)\s*+</tr>"  # 1: a row of plain cells
    rf"|([a-zA-Z][^\s>]*+)((?:{_ATTRIBUTE})*+)>(?:([^<]*+)</\2>)?"  # 2: name, 3: attributes, 4: text, where no more
    r"|/([a-zA-Z][^\s>]*+)>)"  # 5: name of what ends
    rf"|({_RAW})(?:{_ATTRIBUTE})*+>([^<]*+(?:<(?!/\6>)[^<]*+)*+)</\6>"  # 6: name, 7: text without markup
    r"|(!--.*?-->)|[!?][^>]*+>)",  # 8: comment
    re.S,
)
_ROW, _NAME, _BEGINS, _LEAF, _ENDS, _RAW_NAME, _RAW_TEXT, _COMMENT = range(1, 9)
_CELL = re.compile(r">([^<]*+)</t[dh]>")
_NAMED = re.compile(r"\s([^\s>][^\s=>]*+)=\"([^\"]*+)\"")
_ANY_TAG = re.compile(r"<(?:!--[^\n]*?-->|[/!?a-zA-Z][^<>]*>)")
_BULLET = re.compile(r" *(?:- |\d+\. |\|)")
_SPACE = re.compile(r"[ \t\r\n\f]{2,}|[\t\r\n\f]")
"""White space that is not one space already."""


def to_markdown(html: str) -> str:
    """The visible content of a page as Markdown: headings, lists, tables, fences and links, no scripts and styles.

    Pages that are too big for the parser, nest too deep or would multiply in it lose their tags only.
    """
    html = valid(html).replace("\x00", "\ufffd")
    if len(html) > _MOST_CHARS or not is_bearable(html):
        return _ANY_TAG.sub(" ", html).strip()
    html = html.replace(_CUT, "").replace(_ON, "")
    walk = _Walk()
    end = 0
    for piece in pieces(html):
        end += len(piece)
        parsed, title = _parsed(f"{walk.reopened()}{piece}{_CUT if end < len(html) else ''}")
        if title and walk.is_blank() and html.find("<h1", end) < 0:
            walk.out += ["# ", title, _BLOCK]
        walk.run(parsed)
    return walk.made()


def _parsed(piece: str) -> tuple[str, str]:
    """What the parser makes of a piece, and its title where it has no main heading. The tree is gone then."""
    tree = LexborHTMLParser(piece)
    title = tree.css_first("title")
    words = title.text() if title is not None and tree.css_first("h1") is None else ""
    return tree.html or "", _SPACE.sub(" ", words).strip()


def _plain(text: str) -> str:
    """A text or the value of an attribute, as it was before it was written down."""
    if "&" not in text:
        return text
    for name, sign in (("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\xa0"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(name, sign)
    return text


class _Walk:
    """Tag by tag over a page; `out` collects text and breaks."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.lists: list[int] = []  # per open list: 0 = bullets, else the next number
        self.preformatted = 0
        self.rows: list[int] = []  # per open table: rows written so far
        self._open: list[tuple[str, int, str]] = []  # name, length of `out` before it, its attributes
        self._taking = 0  # open elements that will take back what was written since
        self._dropped, self._depth = "", 0  # the element that is being left out, and how often it is open
        self._reopened: list[str] = []  # elements of the piece before, at the beginning of this one
        self._joined = _Join()

    def made(self) -> str:
        return self._joined.whole(self.out)

    def is_blank(self) -> bool:
        """Whether nothing has been written yet."""
        return self._joined.is_empty() and all(part in (_LINE, _BLOCK) for part in self.out)

    def reopened(self) -> str:
        """What is still open behind the pieces so far, as the beginning of the next one."""
        self._reopened = [name for name, _, _ in self._open] + [self._dropped] * self._depth
        return "".join(f"<{name}>" for name in self._reopened) + _ON if self._reopened else ""

    def run(self, html: str) -> None:
        """Reads what the parser wrote of a piece."""
        at = 0
        out = self.out
        for found in _TOKEN.finditer(html):
            start, end = found.span()
            if start > at and not self._dropped:
                self.text(html[at:start])
            at = end
            what = found.lastindex
            if what == _COMMENT and found[_COMMENT] == _CUT[1:]:
                return
            if (self._reopened or self._dropped) and self._passed(found):
                continue
            if what == _ENDS:
                name = found[_ENDS]
                if name in _KNOWN:
                    self.close(name)
            elif what == _LEAF:
                self.leaf(found[_NAME], found[_BEGINS], found[_LEAF])
            elif what == _BEGINS:
                name = found[_NAME]
                if name == "br":
                    out.append("\n" if self.preformatted else _LINE)
                elif name in _DROPPED:
                    self._dropped, self._depth = name, 1
                elif name in _KNOWN:
                    if name not in _VOID:
                        self._open.append((name, len(out), found[_BEGINS]))
                        self._taking += name in _TAKING
                    self.enter(name, found[_BEGINS])
            elif what == _ROW:
                self.row([f"| {' '.join(_plain(cell).split())} " for cell in _CELL.findall(found[_ROW])])
            elif what == _RAW_TEXT and found[_RAW_NAME] not in _DROPPED:
                out.append(self.words(found[_RAW_TEXT]))
            if len(out) >= _HELD and not self._taking:
                self._joined.add(out)
                out.clear()
        if at < len(html) and not self._dropped:
            self.text(html[at:])

    def _passed(self, found: re.Match[str]) -> bool:
        """Whether a tag only repeats what is open already, or belongs to what is left out."""
        what = found.lastindex
        if self._reopened:
            if what == _COMMENT and found[_COMMENT] == _ON[1:]:
                self._reopened = []
                return True
            if what == _BEGINS and found[_NAME] == self._reopened[0]:
                del self._reopened[0]
                return True
        if not self._dropped:
            return False
        if what in (_BEGINS, _ENDS) and self._dropped in found.group(_NAME, _ENDS):
            self._depth += 1 if what == _BEGINS else -1
            self._dropped = self._dropped if self._depth else ""
        return True

    def leaf(self, name: str, attributes: str, inside: str) -> None:
        """An element that holds nothing but text."""
        if name not in _KNOWN:
            if inside and name not in _DROPPED:
                self.text(inside)
            return
        if name in _MARKS and not self.preformatted:
            self.out.append(_emphasised(_MARKS[name], self.words(_plain(inside))))
            return
        start = len(self.out)
        self.enter(name, attributes)
        if inside:
            self.text(inside)
        self.leave(name, start, attributes)

    def close(self, name: str) -> None:
        """An element ends, and what is still open in it."""
        while self._open:
            opened, start, attributes = self._open.pop()
            self._taking -= opened in _TAKING
            self.leave(opened, start, attributes)
            if opened == name:
                break

    def text(self, text: str) -> None:
        words = self.words(_plain(text))
        if words:
            self.out.append(words)

    def words(self, text: str) -> str:
        """A text with its white space as a page shows it."""
        if not self.preformatted and ("  " in text or not text.isprintable()):
            return _SPACE.sub(" ", text)
        return text

    def enter(self, tag: str, attributes: str) -> None:
        out = self.out
        if tag in _MARKS:
            return
        if tag in _LINES:
            out.append(_LINE)
        elif tag in _BLOCKS:
            out.append(_LINE if tag in ("ul", "ol") and self.lists else _BLOCK)
            if tag in ("ul", "ol"):
                self.lists.append(1 if tag == "ol" else 0)
            elif tag == "table":
                self.rows.append(0)
        elif tag in _HEADINGS:
            out += (_BLOCK, _HEADINGS[tag])
        elif tag == "li":
            out += (_LINE, self.bullet())
        elif tag == "pre":
            out.append(_BLOCK)
            self.preformatted += 1
        elif tag == "img":
            self.image(attributes)
        elif tag == "hr":
            out += (_BLOCK, "---", _BLOCK)

    def leave(self, tag: str, opened_at: int, attributes: str) -> None:
        out = self.out
        if tag in _MARKS:
            if not self.preformatted:
                out.append(_emphasised(_MARKS[tag], self.take(opened_at)))
        elif tag in _BLOCKS or tag in _HEADINGS:
            if tag in ("ul", "ol") and self.lists:
                self.lists.pop()
            elif tag == "table" and self.rows:
                self.rows.pop()
            out.append(_LINE if tag in ("ul", "ol") and self.lists else _BLOCK)
        elif tag in ("td", "th"):
            self.cell(opened_at)
        elif tag == "tr":
            parts = [part for part in out[opened_at:] if part not in (_LINE, _BLOCK) and part.strip()]
            if parts and all(part.startswith("| ") for part in parts):
                del out[opened_at:]
                self.row(parts)
        elif tag == "a":
            if not self.preformatted:
                self.link(attributes, opened_at)
        elif tag == "pre":
            self.preformatted -= 1
            words = self.take(opened_at).strip("\n ").rstrip()
            fence = "```" if "```" not in words else "~~~~"
            out += (_BLOCK, f"{fence}\n{words}\n{fence}", _BLOCK) if words else ()

    def take(self, opened_at: int) -> str:
        """The text written since an element opened, on one line where it had breaks."""
        parts = self.out[opened_at:]
        del self.out[opened_at:]
        return "".join(parts).replace(_LINE, " ").replace(_BLOCK, " ")

    def cell(self, opened_at: int) -> None:
        """A cell of a data table; one that holds blocks belongs to a layout and stands as it is."""
        if _BLOCK in self.out[opened_at:]:
            self.out.append(_BLOCK)
            return
        self.out.append(f"| {' '.join(self.take(opened_at).split())} ")

    def row(self, cells: list[str]) -> None:
        """A row of a data table, under a rule where it is the first one; nothing of one that is empty."""
        if any(len(part) > 3 for part in cells):
            self.out += [_LINE, "".join(cells) + "|", _LINE]
            if self.rows and not self.rows[-1]:
                self.out += ["|" + "---|" * len(cells), _LINE]
            if self.rows:
                self.rows[-1] += 1

    def link(self, attributes: str, opened_at: int) -> None:
        target = _value(attributes, "href")
        if not target or target.startswith(("javascript:", "data:")):
            return
        text = self.take(opened_at).strip()
        if target.startswith("#"):
            # A place in the page that is read already; a mark beside a heading says nothing else.
            self.out.append("" if text in _ANCHORS else text)
        else:
            self.out.append(f"[{text}]({target})" if text else "")

    def image(self, attributes: str) -> None:
        source, words = _value(attributes, "src"), _value(attributes, "alt")
        if words or source:
            self.out.append(f"![{words}]({'' if source.startswith('data:') else source})")

    def bullet(self) -> str:
        indent = "  " * max(0, len(self.lists) - 1)
        if self.lists and self.lists[-1]:
            self.lists[-1] += 1
            return f"{indent}{self.lists[-1] - 1}. "
        return f"{indent}- "


def _emphasised(mark: str, inside: str) -> str:
    """Emphasis around what is not blank, a space at its end behind it."""
    bare = inside.strip()
    if not bare:
        return inside
    return f"{mark}{bare}{mark} " if inside[-1] == " " else f"{mark}{inside}{mark}"


def _value(attributes: str, name: str) -> str:
    """The value of an attribute; `""` where it has none."""
    return _plain(dict(_NAMED.findall(attributes)).get(name, "")).strip()


class _Join:
    """Text with breaks resolved: any run of them becomes one line end, or one blank line."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._out: list[str] = []
        self._pending = ""

    def is_empty(self) -> bool:
        return not self._out and not self._done

    def whole(self, parts: list[str]) -> str:
        """All that was added and the last parts."""
        self.add(parts)
        return "".join([*self._done, *self._out]).strip()

    def add(self, parts: list[str]) -> None:
        """More parts of the page."""
        out, pending = self._out, self._pending
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
        self._pending = pending
        if len(out) >= _HELD:
            # What may still be trimmed stands at the end.
            self._done.append("".join(out[:-_TRIMMED]))
            del out[:-_TRIMMED]
