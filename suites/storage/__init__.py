"""The database fails in every way it can; nobody who asks a model must notice."""
