"""Who answers a request: live providers over their SDK, and simulated models."""
