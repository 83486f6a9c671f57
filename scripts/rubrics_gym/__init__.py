"""Rubric libraries for a coding world model: the library that the workflow's scripts call.

Rooms, in the order of imports (a room imports only from rooms before it): records, settings,
statistics, store, models, tasks, grading, harness, failures, libraries, judge, studies,
interchange, providers, report.
"""
