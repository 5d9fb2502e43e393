"""Random kills under load; the books must still be right."""
