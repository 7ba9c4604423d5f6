"""What changes a batch: pages and climbs, repairs, and the sweep that ends what is overdue."""
