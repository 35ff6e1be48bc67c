"""The engine that asks a language model for records."""
