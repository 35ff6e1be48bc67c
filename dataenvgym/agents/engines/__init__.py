"""Engines turn a plan into training records. A domain's own engines are in its folder."""
