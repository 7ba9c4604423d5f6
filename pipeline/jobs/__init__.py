"""Entry points: each job reads its arguments, reads and writes; the transforms do neither."""
