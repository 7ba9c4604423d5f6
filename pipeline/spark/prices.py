"""List prices in US dollars: us-east-1, standard queue, on-demand table, free tier not counted."""

SQS_REQUEST = 0.40 / 1e6
WRITE_UNIT = 0.625 / 1e6
READ_UNIT = 0.125 / 1e6
