"""`python -P -m actors.upstream`"""

from actors.upstream.actor import UpstreamActor
from bus.run import run_actor
from config.place import Place

if __name__ == "__main__":
    run_actor(UpstreamActor(Place.from_environment()))
