"""Local references of a JSON schema: does each `$ref` lead somewhere? Pure and iterative."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

DATA_KEYWORDS = ("const", "default", "enum", "example", "examples")
"""Keywords whose values are data, in which a `$ref` is no reference."""
NAME_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose values map names, which may be anything (`$ref` too), to schemas."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def dangling(schema: Any) -> str:
    """The first local reference that leads nowhere; empty when all resolve. Others (URLs, anchors) are not judged."""
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/") and not _resolves(schema, reference):
                return reference
            for keyword, value in node.items():
                if keyword in NAME_MAPS and isinstance(value, dict):
                    todo.extend(value.values())
                elif keyword not in DATA_KEYWORDS:
                    todo.append(value)
    return ""


def _resolves(schema: Any, reference: str) -> bool:
    node = schema
    for raw in reference[2:].split("/"):
        step = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and step not in node:
            step = unquote(step)  # it is the fragment of a URI: `List%3CItem%3E`
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list) and _INDEX.fullmatch(step) and int(step) < len(node):
            node = node[int(step)]
        else:
            return False
    return True
