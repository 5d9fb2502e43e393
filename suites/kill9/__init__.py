"""Random kills under load; the accounting must remain correct."""
