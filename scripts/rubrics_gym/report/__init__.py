"""Tables, figures and the dashboard: pure functions from records to rows, from rows to pictures, and from both to one page."""
