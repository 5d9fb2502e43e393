"""Secrets in every place, and a search of every byte that left."""
