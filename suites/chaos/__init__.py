"""One of three providers fails in turns; clients must not notice."""
