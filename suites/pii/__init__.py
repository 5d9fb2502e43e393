"""Precision and recall of the detection of personal data, beside those of Presidio's pattern recognisers."""
