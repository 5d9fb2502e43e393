"""Streams that die in the middle and are told to their end by another model."""
