"""Small helpers that several rooms share."""
