"""Any client with any model: the official SDKs against every type of provider, feature by feature."""
