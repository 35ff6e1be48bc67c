"""Engines for the code domain. They execute each record before they keep it."""
