"""Writes the problems of the shipped worlds.

    python -m tools.worlds

writer    shared by the three: takes phrases in turn, checks rows
shop      the requests of a shop's customers
calendar  Mara's requests to her calendar
wallet    Noor's requests to her wallet

The same code writes the same files. The audit (`dataenvgym worlds audit`) checks them.
"""
