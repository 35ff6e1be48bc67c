"""`dataenvgym harvest`: says what a fruit weighs in a basket."""

from .domain import make


def add_harvest(command):
    harvest = command("harvest", "say the answer of a problem of the orchard")
    harvest.add_argument("number", type=int, help="the number of the basket")
    harvest.set_defaults(function="orchard.command:harvest")


def harvest(arguments):
    print(make(arguments.number).answer)
