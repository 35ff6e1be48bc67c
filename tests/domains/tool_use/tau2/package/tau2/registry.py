"""Its presence says that the package is Sierra's."""
