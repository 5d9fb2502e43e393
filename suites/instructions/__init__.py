"""Instructions and system calls of the gateway per call, compared with recorded figures."""
