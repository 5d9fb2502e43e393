"""Rolling upgrades: two versions side by side behind nginx under load."""
