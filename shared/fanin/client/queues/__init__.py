"""Work queues as the client offers them: in this process, and administered over HTTP."""
