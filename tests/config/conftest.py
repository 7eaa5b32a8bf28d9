"""Writing and loading the configuration file of the scratch place."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from config.load import Loaded, load_settings
from config.place import Place


@pytest.fixture
def write(place: Place) -> Callable[[Any], None]:
    """Writes the configuration file, at once as an editor does: bytes as they are, everything else as JSON."""

    def write(content: Any) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        # Written in place, a watcher would now and then see it while it is empty.
        written = place.config_file.with_suffix(".written")
        written.write_bytes(data)
        written.replace(place.config_file)

    return write


@pytest.fixture
def load(place: Place, write: Callable[[Any], None]) -> Callable[..., Loaded]:
    """Loads a document in an environment of nothing but the given variables."""

    def load(content: Any = None, **env: str) -> Loaded:
        if content is not None:
            write(content)
        return load_settings(place, env)

    return load
