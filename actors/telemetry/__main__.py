"""`python -m actors.telemetry`."""

import os

from actors.telemetry.actor import TelemetryActor
from bus.run import run_actor
from config.place import Place

if __name__ == "__main__":
    os.nice(5)  # loading and queries give way to the calls they are about
    run_actor(TelemetryActor(Place.from_environment()))
