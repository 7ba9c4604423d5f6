"""Where the first bottleneck is at each load: production's requests, under the limits that AWS documents."""
