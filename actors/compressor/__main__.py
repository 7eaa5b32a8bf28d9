"""`python -m actors.compressor`: the compressor as a process of its own."""

import os

from actors.compressor.actor import NICENESS, CompressorActor
from bus.run import run_actor
from config.place import Place

if __name__ == "__main__":
    os.nice(NICENESS)
    run_actor(CompressorActor(Place.from_environment()))
