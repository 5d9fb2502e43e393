//! Deltas decode to what was encoded, and damaged ones are refused.

use proptest::prelude::*;

use super::*;

type Owned = (i64, [String; AXES.len()], Vec<(usize, i64)>);

prop_compose! {
    fn any_entry()(
        number in -10i64..2_000_010,
        texts in proptest::array::uniform7(prop_oneof![Just(""), Just("gpt-4o"), Just("/team/app"), Just("é\u{1f980}")]),
        sums in proptest::collection::vec(
            (0..Sums::COLUMNS, prop_oneof![Just(1i64), -1_000_000i64..1_000_000, Just(i64::MAX), Just(i64::MIN)]), 0..12,
        ),
    ) -> Owned {
        let mut sums = sums;
        sums.sort_unstable();
        sums.dedup_by_key(|(column, _)| *column);
        sums.retain(|(_, value)| *value != 0);
        (number * QUARTER_HOUR, texts.map(str::to_owned), sums)
    }
}

fn encoded(entries: &[Owned]) -> Option<Delta> {
    let mut encoder = Encoder::default();
    for (bucket, texts, columns) in entries {
        let mut sums = Sums::default();
        sums.add_columns(columns);
        encoder.add(&(*bucket, texts.each_ref().map(String::as_str)), &sums);
    }
    encoder.finish()
}

fn decoded(bytes: &[u8]) -> Result<Vec<Owned>, StoreError> {
    let mut decoder = Decoder::new(bytes)?;
    let (mut entries, mut sums) = (Vec::new(), Vec::new());
    while let Some((bucket, texts)) = decoder.next(&mut sums)? {
        entries.push((bucket, texts.map(str::to_owned), sums.clone()));
    }
    Ok(entries)
}

proptest! {
    #[test]
    fn a_delta_decodes_to_what_was_encoded(entries in proptest::collection::vec(any_entry(), 1..40)) {
        let delta = encoded(&entries).unwrap();
        prop_assert_eq!(delta.entries, entries.len() as i64);
        prop_assert_eq!(delta.oldest, entries.iter().map(|entry| entry.0).min().unwrap());
        prop_assert_eq!(delta.newest, entries.iter().map(|entry| entry.0).max().unwrap());
        prop_assert_eq!(decoded(&delta.bytes).unwrap(), entries);
    }

    #[test]
    fn a_truncated_delta_is_refused(entries in proptest::collection::vec(any_entry(), 1..5), cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&entries).unwrap().bytes;
        let cut = cut.index(bytes.len());
        prop_assert!(matches!(decoded(&bytes[..cut]), Err(StoreError::Corrupt(_))));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = bytes;
        bytes.insert(0, VERSION);
        _ = decoded(&bytes);
    }
}

#[test]
fn another_version_is_refused_and_nothing_is_not_encoded() {
    assert!(matches!(decoded(&[VERSION + 1, 0, 0]), Err(StoreError::Corrupt(_))));
    assert_eq!(encoded(&[]), None);
}

#[test]
fn chunks_do_not_span_buckets_and_add_up_to_the_whole() {
    let mut sums = Sums::default();
    sums.add_columns(&[(0, 3)]);
    let names: Vec<String> = (0..7).map(|number| format!("m{number}")).collect();
    let key = |bucket, name| (bucket, [name, "", "", "", "", "", ""]);
    let bucket = |index: usize| if index < 4 { 0 } else { 900 };
    let mut encoder = Encoder::default();
    names.iter().enumerate().for_each(|(index, name)| encoder.add(&key(bucket(index), name), &sums));
    [("k1", 5), ("k2", -7)].into_iter().for_each(|(key, at)| encoder.add_use(key, at));
    let whole = [encoder.finish().unwrap().bytes];
    let all = add_up(&whole).unwrap();
    let chunks = Delta::chunks(&all, 3);
    let shown: Vec<_> = chunks.iter().map(|delta| (delta.oldest, delta.newest, delta.entries)).collect();
    assert_eq!(shown, [(0, 0, 3), (0, 0, 1), (900, 900, 3)]);
    let bytes: Vec<Vec<u8>> = chunks.into_iter().map(|delta| delta.bytes).collect();
    let again = add_up(&bytes).unwrap();
    assert_eq!((again.sums(), again.uses), (all.sums(), all.uses));
}

/// The columns are numbered by their order. The list is only extended at its end; any other change needs another
/// version, which reads deltas of this one by these names.
#[test]
fn version_1_has_these_columns() {
    let axes = AXES.map(rollup::Axis::column).join(" ");
    assert_eq!(axes, "model provider provider_name user_path auth_key_id tenant_id cache_type");
    let columns = rollup::sum_columns();
    assert_eq!(
        columns[..19].join(" "),
        "requests errors status_2xx status_3xx status_4xx status_5xx input cache_read cache_write_5m cache_write_1h \
         audio_input output reasoning audio_output input_cost output_cost priced unpriced estimated"
    );
    let bounds =
        "1 2 5 10 20 35 50 75 100 150 200 300 500 750 1000 1500 2000 3000 5000 7500 10000 20000 60000 over";
    let slots =
        ["latency", "first_byte"].map(|name| bounds.split(' ').map(move |bound| format!("{name}_{bound}")));
    assert_eq!(columns[19..67], slots.into_iter().flatten().collect::<Vec<_>>());
    assert_eq!(columns[67..], ["saved_cost", "cache_misses", "prompt_cache_savings"]);
}

/// A delta as a build without the last columns writes it: one call, in the last slot of the last histogram.
#[test]
fn a_delta_of_an_earlier_build_is_read() {
    let one = varint::zigzag(1) as u8;
    let mut bytes = vec![1, 0, 0, 1, 0];
    bytes.extend([0; AXES.len()]);
    bytes.extend([2, 0, one, 66, one]);
    let expected: Vec<Owned> = vec![(0, Default::default(), vec![(0, 1), (66, 1)])];
    assert_eq!(decoded(&bytes).unwrap(), expected);
    assert_eq!(rollup::sum_column("first_byte_over"), Some(66));
}
