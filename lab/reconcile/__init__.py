"""The reconcile job over a manifest and exports of one large batch."""
