"""`python -m actors.tuner`."""

from actors.tuner.actor import TunerActor
from bus.run import run_actor
from config.place import Place

if __name__ == "__main__":
    run_actor(TunerActor(Place.from_environment()))
