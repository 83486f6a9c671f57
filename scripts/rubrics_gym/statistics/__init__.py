"""Distances, intervals, tests and bounds: pure functions of arrays that never return a bare number."""
