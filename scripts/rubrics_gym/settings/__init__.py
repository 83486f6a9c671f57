"""The typed configuration: reading, validating, slicing, and the provenance parameters of rules."""
