"""An engine that asks a language model for records."""
