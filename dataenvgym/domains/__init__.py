"""The shipped domains: math, code, tool use and social simulation."""
