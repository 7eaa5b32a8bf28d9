"""Runs the probe actor as a process: `python -m tests.bus.probe_process`."""

from bus.run import run_actor
from config.place import Place
from tests.bus.actors_under_test import Probe

if __name__ == "__main__":
    run_actor(Probe(Place.from_environment()))
