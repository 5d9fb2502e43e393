"""Every fault of the table, from outside: the official SDKs judge what the gateway makes of it."""
