"""`python -m actors.compressor [NUMBER]`: the compressor as a process of its own; NUMBER tells replicas apart."""

import os
import sys

from actors.compressor.actor import NICENESS, CompressorActor
from bus.run import run_actor
from config.place import Place

HONCHO_VARIABLE = "HONCHO_PROCESS_NAME"


def number(argv: list[str], honcho_name: str) -> int:
    """Which replica this is: as the supervisor says, else as honcho has named the process (`compressor.2`)."""
    word = argv[0] if argv else honcho_name.rpartition(".")[2]
    return int(word) if word.isascii() and word.isdigit() and int(word) else 1


if __name__ == "__main__":
    os.nice(NICENESS)
    run_actor(CompressorActor(Place.from_environment(), number(sys.argv[1:], os.environ.get(HONCHO_VARIABLE, ""))))
