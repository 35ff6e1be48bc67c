"""The skeletons of `dataenvgym new`: a module, its test and its YAML file, for each kind.

They are working modules; `new` copies them under other names.
"""
