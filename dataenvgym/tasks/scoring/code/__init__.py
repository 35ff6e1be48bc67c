"""Finds Python code in a reply, however it is wrapped (`extraction`)."""
