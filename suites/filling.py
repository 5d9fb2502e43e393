"""Fills the database with many past usage rows, copied from rows that the gateway itself wrote."""

import rig
import traffic

PATH = "/filled"
TEMPLATES = 500
TWO_DAYS = 2 * 24 * 3600
HOUR = 3600


def fill(gateway, backend, rows):
    """Leaves the gateway stopped and the database with that many usage rows and their rollups, all older than two days.
    """
    gateway.start(models=["openai/text"])
    headers = rig.bearer(rig.MASTER_KEY) | {"x-gateway-user-path": PATH}
    wanted = min(TEMPLATES, rows)

    def plan(chance, request_id):
        return traffic.Call(request_id, chance.choice(["chat", "messages"]), "openai/text", chance.random() < 0.5)

    traffic.Load(gateway.port, 8, "fill", plan, headers, most=wanted).start().join()
    rig.eventually(lambda: gateway.usage_log(limit=1)["total"] >= wanted, 20, what="the rows to copy")
    gateway.stop()
    copies = rows // wanted
    multiply(backend, "usage", copies, {"at": f"at - CAST(1000000 AS BIGINT) * ({TWO_DAYS} + n * {HOUR})", "id": "id || '-' || n"})
    # Buckets of a quarter of an hour, in seconds.
    multiply(backend, "rollups", copies, {"bucket": f"bucket - ({TWO_DAYS} + n * {HOUR})"})
    backend.run("ANALYZE")
    return int(backend.run("SELECT COUNT(*) FROM usage")[0][0])


def multiply(backend, table, copies, changed):
    names = backend.columns(table)
    values = [changed.get(name, f"{table}.{name}") for name in names]
    backend.run(
        f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {copies}) "
        f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table}, numbers"
    )
