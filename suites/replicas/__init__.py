"""Four replicas on one PostgreSQL and one Redis: budgets, limits and revocations hold over all of them, also under faults."""
