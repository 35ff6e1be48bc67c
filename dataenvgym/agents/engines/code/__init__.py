"""Engines for the code domain: records that were executed before they are kept."""
