"""What `dataenvgym new` writes: a module, its test and its YAML file, for each kind.

These are working modules; `new` writes them with other names.
"""
