"""Costs that are exact to the nano-dollar under all faults."""
