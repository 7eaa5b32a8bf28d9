"""Adding and removing one table of a TOML file."""

import pytest

from cli import toml_text

ENTRY = {"command": "/x/mms", "args": ["gateway"], "env": {"A B": 'c"\\\x7f'}}
PATH = ("mcp_servers", "memtomem")
TEXTS = [
    "",
    'model = "x" # mine\n',
    'model = "x"\n\n[mcp_servers.git]\ncommand = "g"\n\n[mcp_servers.git.env]\nA = "b"\n',
    "a=1\r\n[[x]]\r\nb=2\r\n",
    '[mcp_servers]\nq = { command = "z" }\n',
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_table_comes_and_goes(text: str) -> None:
    changed = toml_text.put(text, PATH, ENTRY)
    assert changed.startswith(text)
    assert toml_text.parse(changed)["mcp_servers"]["memtomem"] == ENTRY
    assert toml_text.put(changed, PATH, ENTRY) == changed
    assert toml_text.remove(changed, PATH) == text
    assert toml_text.remove(text, PATH) == text


def test_tables_below_go_too_and_neighbours_stay() -> None:
    text = (
        '[a]\nx = 1\n[mcp_servers."memtomem"]\ncommand = "m"\n[mcp_servers.memtomem.env]\nA = "[b]"\n# c\n[z]\ny = 2\n'
    )
    assert toml_text.remove(text, PATH) == "[a]\nx = 1\n[z]\ny = 2\n"


@pytest.mark.parametrize(
    "text", ['mcp_servers = { memtomem = { command = "x" } }', '[mcp_servers]\nmemtomem.command = "x"', "a = "]
)
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        toml_text.remove(text, PATH)
    with pytest.raises(ValueError):
        toml_text.put(text, PATH, ENTRY)
