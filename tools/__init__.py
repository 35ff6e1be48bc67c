"""Programs for maintainers; what they write ships with the package."""
