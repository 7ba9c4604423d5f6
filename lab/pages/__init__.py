"""Results as they are kept in ``lab/results``, and the pages of docs/performance that show them."""
