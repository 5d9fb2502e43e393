"""One of three providers is faulty in turns; nobody must notice."""
