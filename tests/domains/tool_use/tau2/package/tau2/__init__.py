"""A package with the few names of Sierra's tau2 that dataenvgym uses."""
