"""Precision and recall of the detection of prompt injections."""
