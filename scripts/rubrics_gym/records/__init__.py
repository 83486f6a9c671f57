"""What is written to disk: typed, versioned, and read back by the same types."""
