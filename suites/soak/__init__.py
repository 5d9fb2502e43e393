"""Memory, file handles and threads of the gateway after many mixed calls."""
