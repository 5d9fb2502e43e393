"""Streams that are interrupted and completed by another model."""
