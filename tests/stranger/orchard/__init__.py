"""A package of a stranger: all that its pages say a package may add, and nothing internal."""
