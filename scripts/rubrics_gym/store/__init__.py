"""What was paid for or cannot be made again: requests and their responses, attempts. Durable, keyed, leased; nothing is ever deleted here."""
