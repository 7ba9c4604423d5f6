"""What every job shares: session, errors, progress, datasets, output, bitmaps, schemas."""
