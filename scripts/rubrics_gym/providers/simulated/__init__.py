"""Simulated models: each answers a rendered request, and knows nothing beside it."""
