"""The four clients agree: the fake, the direct one, the one over HTTP, and that for asyncio."""
