"""Faults for the tests to notice; see `__main__.py`."""
