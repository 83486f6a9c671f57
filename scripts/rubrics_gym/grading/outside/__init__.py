"""What runs in the grading environment, as a process of its own: it reads a request on stdin and answers with one JSON value on stdout.

That environment holds other versions of packages than ours, so nothing in here imports any other room.
"""
