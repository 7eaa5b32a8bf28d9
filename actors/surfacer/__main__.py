"""`python -m actors.surfacer`."""

from __future__ import annotations

from actors.surfacer.actor import SurfacerActor
from bus.run import run_actor
from config.place import Place

if __name__ == "__main__":
    run_actor(SurfacerActor(Place.from_environment()))
