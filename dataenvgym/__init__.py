"""dataenvgym: a gym for agents that teach."""

from dataenvgym.registration import register_environments

__version__ = "0.1.0"

register_environments()
