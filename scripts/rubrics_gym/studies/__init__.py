"""What is decided before a study runs: frozen protocols, their verification, and what a run would cost."""
