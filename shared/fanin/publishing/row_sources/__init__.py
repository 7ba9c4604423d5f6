"""Where rows come from: a file, an object of S3, the objects under a prefix, or those of an S3 inventory.

``naming.source_of`` returns the ``source.Source`` of a name. ``formats`` reads rows out of bytes, which
``files`` and ``objects`` open: an object is read in ranges, each on the condition of the ETag.
"""
