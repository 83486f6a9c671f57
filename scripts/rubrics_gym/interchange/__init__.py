"""Logs of other systems: read into our record, and our record written in their formats."""
