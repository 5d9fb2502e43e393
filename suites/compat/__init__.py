"""Any client to any model: the official SDKs against every kind of provider, feature by feature."""
