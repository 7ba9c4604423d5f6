"""Publications: objects of S3 whose rows functions of the stack publish as the items of a batch.

A publication is named by its batch. ``Publications.start`` opens the batch, stores the first position and
sends a message; the event of an object that is created does so, too (``Publications.start_created``).
``Publications.go_on`` handles the message: it finds the object, reads rows from the position on, adds and
sends part after part, stores the position after each, and sends the message again before its time is over.

What a crash repeats has no second effect. The rows of a part follow from its position and from the object,
whose ETag is a condition of each read, and the part's number is the idempotency key of its add: so a row has
one item, however often its part is sent. A position is stored on the condition of the one before. Cancelling
the batch stops its publication at the next part.

Read ``model``, ``allowing``, ``finding``, ``service``, then ``reading`` and ``dynamodb``.
"""
