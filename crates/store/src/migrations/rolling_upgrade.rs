//! Rolling upgrades: processes of version 0.1.0 go on working while a newer one has migrated the tables.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::database::{Writing, sql};
use crate::testing::for_each_database;

/// The tables of version 0.1.0, dumped from a database of that version.
const SQLITE: &str = include_str!("../../tests/schema-0.1.0/sqlite.sql");
const POSTGRES: &str = include_str!("../../tests/schema-0.1.0/postgres.sql");

/// The last migration of version 0.1.0.
const LAST_OF_0_1_0: &str = "audit_errors";

/// A column as version 0.1.0 knows it.
struct Column {
    name: String,
    kind: String,
    /// Whether it is part of the primary key.
    is_key: bool,
}

impl Column {
    /// A value that is different for every number.
    fn value(&self, number: i64) -> String {
        match self.kind.to_lowercase().as_str() {
            "bytea" => format!("CAST('{number}' AS BYTEA)"),
            "blob" => format!("CAST('{number}' AS BLOB)"),
            "text" => format!("'{number}'"),
            _ => number.to_string(),
        }
    }
}

async fn columns(database: &Database) -> BTreeMap<String, Vec<Column>> {
    const OF_POSTGRES: &str = "SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT), CAST(c.data_type AS TEXT), \
         CAST((SELECT COUNT(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
         WHERE i.indisprimary AND i.indrelid = CAST(c.table_name AS regclass) AND a.attname = c.column_name) AS BIGINT) \
         FROM information_schema.columns c WHERE c.table_schema = 'public' AND c.is_identity = 'NO' \
         ORDER BY c.table_name, c.ordinal_position";
    const OF_SQLITE: &str = "SELECT m.name, c.name, c.type, c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c \
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND c.type <> 'INTEGER' ORDER BY m.name, c.cid";
    let query = if database.is_postgres() { OF_POSTGRES } else { OF_SQLITE };
    let mut tables: BTreeMap<String, Vec<Column>> = BTreeMap::new();
    for row in database.fetch(query, &[]).await.unwrap() {
        let column = Column {
            name: row.get(1).unwrap(),
            kind: row.get(2).unwrap(),
            is_key: row.get::<i64>(3).unwrap() > 0,
        };
        tables.entry(row.get(0).unwrap()).or_default().push(column);
    }
    tables.remove("migrations");
    tables
}

/// Inserts a row with the columns of version 0.1.0, in the forms of its statements.
async fn insert(open: &mut Writing, table: &str, columns: &[Column], number: i64) {
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let values: Vec<String> = columns.iter().map(|column| column.value(number)).collect();
    let keys: Vec<&str> = columns.iter().filter(|column| column.is_key).map(|column| &*column.name).collect();
    let (names, values) = (names.join(", "), values.join(", "));
    // The conflict target needs a unique index of exactly these columns.
    let conflict = match keys.is_empty() {
        true => String::new(),
        false => format!(" ON CONFLICT ({}) DO NOTHING", keys.join(", ")),
    };
    let text = format!("INSERT INTO {table} ({names}) VALUES ({values}){conflict}");
    assert_eq!(open.execute(sql(text), &[]).await.unwrap(), 1, "{table}");
}

async fn count(open: &mut Writing, table: &str, columns: &[Column], number: i64) -> i64 {
    let conditions: Vec<String> =
        columns.iter().map(|column| format!("{} = {}", column.name, column.value(number))).collect();
    let text = format!("SELECT COUNT(*) FROM {table} WHERE {}", conditions.join(" AND "));
    open.fetch(sql(text), &[]).await.unwrap()[0].get(0).unwrap()
}

#[tokio::test]
async fn statements_of_version_0_1_0_work_on_migrated_tables() {
    for_each_database(|backend| async move {
        let database = Database::open(&backend, Duration::from_secs(20)).await.unwrap();
        let mut loading = database.begin().await.unwrap();
        let dump = if database.is_postgres() { POSTGRES } else { SQLITE };
        loading.script(AssertSqlSafe(dump).into_sql_str()).await.unwrap();
        loading.commit().await.unwrap();
        let known = columns(&database).await;
        assert!(known.len() > 25, "{:?}", known.keys());
        let mut writing = database.begin().await.unwrap();
        for (table, columns) in &known {
            insert(&mut writing, table, columns, 71).await;
        }
        writing.commit().await.unwrap();

        // The first process of this version.
        run(&database, Timestamp(2)).await.unwrap();
        let added = MIGRATIONS.len() - 1 - position(LAST_OF_0_1_0);
        let rows = database.fetch("SELECT COUNT(*) FROM migrations WHERE expands = 1", &[]).await.unwrap();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), added as i64);

        let mut writing = database.begin().await.unwrap();
        for (table, columns) in &known {
            insert(&mut writing, table, columns, 72).await;
            for number in [71, 72] {
                assert_eq!(count(&mut writing, table, columns, number).await, 1, "{table} {number}");
            }
        }
        writing.commit().await.unwrap();
        database.close().await;
    })
    .await;
}

fn position(name: &str) -> usize {
    MIGRATIONS.iter().position(|(known, _)| *known == name).unwrap()
}

/// The statement kinds that a version side by side with its predecessor may use.
fn fault(statement: &str) -> Option<&'static str> {
    let text = statement.to_uppercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let starts = |prefix: &[&str]| words.starts_with(prefix);
    if starts(&["CREATE", "TABLE"]) || starts(&["CREATE", "INDEX"]) {
        return None;
    }
    if starts(&["INSERT", "INTO"]) {
        return None;
    }
    if !starts(&["ALTER", "TABLE"]) {
        return Some("only CREATE TABLE, CREATE INDEX, INSERT and ALTER TABLE … ADD COLUMN are allowed");
    }
    if !words[3..].starts_with(&["ADD", "COLUMN"]) {
        return Some("a column or table is changed, renamed or dropped");
    }
    let is_required = text.contains("NOT NULL") && !text.contains("DEFAULT");
    is_required.then_some("a required column without a default fails the inserts of the version before")
}

#[test]
fn newer_migrations_only_add() {
    assert_eq!(LAST_CHANGING, LAST_OF_0_1_0);
    for (name, text) in &MIGRATIONS[position(LAST_OF_0_1_0) + 1..] {
        let code: String =
            text.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n");
        for statement in code.split(';').filter(|statement| !statement.trim().is_empty()) {
            assert_eq!(fault(statement), None, "{name}: {statement}");
        }
    }
}

#[test]
fn changes_of_known_tables_are_noticed() {
    for refused in [
        "DROP TABLE usage",
        "ALTER TABLE usage DROP COLUMN model",
        "ALTER TABLE usage RENAME TO calls",
        "ALTER TABLE usage ADD COLUMN region TEXT NOT NULL",
        "DELETE FROM usage",
        "CREATE UNIQUE INDEX usage_by_request ON usage (request_id)",
    ] {
        assert!(fault(refused).is_some(), "{refused}");
    }
    for allowed in [
        "CREATE TABLE replicas (id TEXT NOT NULL PRIMARY KEY)",
        "ALTER TABLE usage ADD COLUMN region TEXT",
        "ALTER TABLE usage ADD COLUMN region TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX usage_by_region ON usage (region)",
    ] {
        assert_eq!(fault(allowed), None, "{allowed}");
    }
}
