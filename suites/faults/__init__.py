"""Every row of the fault table, checked through the official SDKs."""
