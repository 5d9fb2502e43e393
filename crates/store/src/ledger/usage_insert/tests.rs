//! Tests of the statements that insert usage rows.

use std::collections::BTreeSet;

use super::*;
use crate::ledger::booking::Booking;
use crate::testing::{for_each_backend, receipt};
use crate::{Store, StoreError};

fn place(name: &str) -> usize {
    columns().position(|column| column == name).unwrap()
}

/// Two rows of zeros with some other values.
fn two_rows<'a>(others: &[(&str, [Value<'a>; 2])]) -> Vec<Value<'a>> {
    let mut rows = vec![Value::Integer(Some(0)); 2 * WIDTH];
    for (name, [first, second]) in others {
        rows[place(name)] = *first;
        rows[WIDTH + place(name)] = *second;
    }
    rows
}

#[test]
fn columns_with_one_plain_value_are_literals() {
    for postgres in [false, true] {
        let rows = two_rows(&[
            ("id", [Value::Text(None); 2]),
            ("request_id", ["", "x"].map(|text| Value::Text(Some(text)))),
            ("provider_id", [1, 0].map(|number| Value::Integer(Some(number)))),
        ]);
        let (text, values) = UsageInserts::new(postgres).statement(&rows);
        assert_eq!(values.len(), 4, "two columns of two rows are bound");
        let text = text.as_str();
        let expected = if postgres {
            ["VALUES (0, NULL, $1, $2, 0,", "), (0, NULL, $3, $4, 0,"]
        } else {
            ["VALUES (0, NULL, ?, ?, 0,", "), (0, NULL, ?, ?, 0,"]
        };
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn labels_that_all_rows_share_are_bound_once() {
    let paths = ["/a", "/a"].map(String::from);
    for postgres in [false, true] {
        let rows = two_rows(&[
            ("at", [1, 2].map(|number| Value::Integer(Some(number)))),
            ("user_path", [(&paths[0]).into(), (&paths[1]).into()]),
            ("status", [Value::Integer(Some(200)); 2]),
            ("input", [Value::Integer(Some(7)); 2]),
        ]);
        let (text, values) = UsageInserts::new(postgres).statement(&rows);
        let text = text.as_str();
        assert!(matches!(values[..2], [Value::Text(Some(_)), Value::Integer(Some(200))]), "{values:?}");
        let numbers = values[2..].iter().map(|value| match value {
            Value::Integer(number) => number.unwrap_or_default(),
            _ => -1,
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 7, 2, 7]);
        let expected = if postgres {
            ["VALUES ($3, 0, 0, 0, 0, 0, 0, 0, 0, $1,", "), ($5, 0, 0, 0, 0, 0, 0, 0, 0, $1,"]
        } else {
            ["SELECT column1, 0, 0, 0, 0, 0, 0, 0, 0, ?,", "FROM (VALUES (?, ?), (?, ?)) WHERE true"]
        };
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn the_number_of_statements_is_bounded() {
    let inserts = UsageInserts::new(false);
    let mut least = WIDTH;
    for number in 0..2000u64 {
        let one = |bit: u64| Value::Integer(Some((number >> (bit % 11) & 1) as i64));
        let rows: Vec<_> = (0..2 * WIDTH as u64).map(one).collect();
        let (_, values) = inserts.statement(&rows);
        least = least.min(values.len());
    }
    assert!(inserts.statements.lock().len() <= MAX_STATEMENTS + 1);
    // Rows without any value fit into many statements, and one of those with the fewest is used.
    assert_eq!(inserts.statement(&vec![Value::Integer(Some(0)); 2 * WIDTH]).1.len(), least);
}

#[tokio::test]
async fn the_columns_are_in_the_order_of_the_table() {
    assert_eq!(TABLE_ORDER.iter().copied().collect::<BTreeSet<_>>(), columns().collect::<BTreeSet<_>>());
    for_each_backend(|store| async move {
        if store.backend_name() == "sqlite" {
            let sql = "SELECT name FROM pragma_table_info('usage') ORDER BY cid";
            let rows = store.database().fetch(sql, &[]).await.unwrap();
            let stored: Vec<String> = rows.iter().map(|row| row.get(0).unwrap()).collect();
            assert_eq!(stored, TABLE_ORDER);
        }
    })
    .await;
}

/// Receipts with labels of which some, all or no parts are the same.
fn bookings(of: &str, models: usize, paths: usize) -> Vec<Booking<'static>> {
    let one = |number: usize| {
        let mut receipt = receipt(format!("{of}{number}"));
        receipt.model = format!("model{}", number % models);
        receipt.user_path = format!("/path{}", number % paths);
        receipt.tenant_id = (paths > 1 && number.is_multiple_of(2)).then(|| "tenant".into());
        receipt.stream = models > 1 && number.is_multiple_of(3);
        receipt.status = if paths > 1 && number.is_multiple_of(5) { 499 } else { 200 };
        receipt.usage.tokens.cache_read = (number % models) as u64;
        receipt.cost = receipt.cost.filter(|_| models == 1 || number.is_multiple_of(2));
        Booking::of(&receipt).unwrap().unwrap()
    };
    (0..41).map(one).collect()
}

async fn book(
    store: &Store,
    bookings: &[Booking<'_>],
    one_at_a_time: bool,
) -> Result<Option<usize>, StoreError> {
    let mut open = store.database().begin().await?;
    let fresh =
        store.ledger().writer.book(&mut open, bookings, one_at_a_time).await?.map(|fresh| fresh.len());
    match fresh {
        Some(_) => open.commit().await?,
        None => drop(open),
    }
    Ok(fresh)
}

async fn rows(store: &Store, prefix: &str) -> Vec<Vec<Option<String>>> {
    let texts = TABLE_ORDER.map(|name| format!("CAST({name} AS TEXT)")).join(", ");
    let sql = format!("SELECT {texts} FROM usage WHERE id LIKE '{prefix}%' ORDER BY length(id), id");
    let rows = store.database().fetch(crate::database::sql(sql), &[]).await.unwrap();
    let read = |row: &crate::database::Row, index| row.get::<Option<String>>(index).unwrap();
    // The ids differ by their prefix.
    let read =
        |row| (0..WIDTH).filter(|index| ![1, 2].contains(index)).map(|index| read(row, index)).collect();
    rows.iter().map(read).collect()
}

#[tokio::test]
async fn rows_are_the_same_as_if_they_were_inserted_one_by_one() {
    for_each_backend(|store| async move {
        for (models, paths) in [(1, 1), (3, 1), (1, 7), (5, 41)] {
            let [many, single] = ["many", "single"].map(|of| format!("{of}_{models}_{paths}_"));
            for (of, one_at_a_time) in [(&many, false), (&single, true)] {
                let booked = book(&store, &bookings(of, models, paths), one_at_a_time).await.unwrap();
                assert_eq!(booked, Some(41));
            }
            let stored = rows(&store, &many).await;
            assert_eq!(stored.len(), 41);
            assert_eq!(stored, rows(&store, &single).await, "{models} models, {paths} paths");
        }
    })
    .await;
}

#[tokio::test]
async fn a_known_receipt_in_a_batch_is_found() {
    for_each_backend(|store| async move {
        for (models, paths) in [(1, 1), (5, 41)] {
            let of = format!("known_{models}_");
            let all = bookings(&of, models, paths);
            assert_eq!(book(&store, &all[20..21], false).await.unwrap(), Some(1));
            assert_eq!(book(&store, &all, false).await.unwrap(), None, "one of 32 rows is known");
            assert_eq!(rows(&store, &of).await.len(), 1, "nothing of the batch was inserted");
            assert_eq!(book(&store, &all, true).await.unwrap(), Some(40));
            assert_eq!(rows(&store, &of).await.len(), 41);
            // Twice in the same statement.
            let twice = format!("twice_{models}_");
            let pairs = bookings(&twice, models, paths).into_iter().zip(bookings(&twice, models, paths));
            let same: Vec<Booking<'_>> = pairs.flat_map(|(one, other)| [one, other]).collect();
            assert_eq!(book(&store, &same, false).await.unwrap(), None);
            assert_eq!(book(&store, &same, true).await.unwrap(), Some(41));
        }
    })
    .await;
}
