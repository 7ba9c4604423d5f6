"""The HTTP edge: what is admitted, what is answered, and how errors look from outside."""
