"""The HTTP edge: admission, request bodies, answers and problem documents."""
