"""Money that is right to the nano-dollar, whatever happens on the way."""
