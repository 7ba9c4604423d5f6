"""Publishes the rows of a source as the items of a batch: packs rows into messages, and sends them by SQS."""
