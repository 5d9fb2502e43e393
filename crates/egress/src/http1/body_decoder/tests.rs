//! Tests of the body framings, for every split of the bytes.

use super::*;
use proptest::prelude::*;

fn decode_all(decoder: &mut BodyDecoder, pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), Malformed> {
    let mut buffer = BytesMut::new();
    let mut data = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let decoded = decoder.decode(&mut buffer)?;
            if decoded.is_empty() {
                break;
            }
            data.extend_from_slice(&decoded);
        }
    }
    Ok((data, buffer.to_vec()))
}

#[test]
fn chunks_are_joined_and_what_follows_stays() {
    let mut decoder = BodyDecoder::chunked();
    let whole = b"5\r\nhello\r\n1;name=value\r\n,\r\n6 \r\n world\r\n0\r\nx-trailer: 1\r\n\r\nHTTP/1.1";
    assert_eq!(decode_all(&mut decoder, &[whole]), Ok((b"hello, world".to_vec(), b"HTTP/1.1".to_vec())));
    assert!(decoder.is_ended());
}

#[test]
fn malformed_chunks_are_refused() {
    let long_extension = format!("1;{}", "x".repeat(MAX_IGNORED + 1));
    let long_trailer = format!("0\r\nx: {}", "x".repeat(MAX_IGNORED));
    for text in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "5\n",
        "5\rx",
        "5;a\nb\r\n",
        "11111111111111111\r\n",
        "1\r\nab",
        "1\r\na\rb",
        "0\r\n\rx",
        "0\r\nx\ny",
        &long_extension,
        &long_trailer,
    ] {
        assert_eq!(decode_all(&mut BodyDecoder::chunked(), &[text.as_bytes()]), Err(Malformed), "{text:.40}");
    }
}

#[test]
fn data_before_a_malformed_chunk_is_returned_first() {
    let mut decoder = BodyDecoder::chunked();
    let mut buffer = BytesMut::from("5\r\nhello\r\nxyz");
    assert_eq!(decoder.decode(&mut buffer), Ok(Bytes::from("hello")));
    assert_eq!(decoder.decode(&mut buffer), Err(Malformed));
}

#[test]
fn a_length_ends_the_body() {
    let mut decoder = BodyDecoder::with_length(5);
    assert_eq!(decode_all(&mut decoder, &[b"he", b"llo!"]), Ok((b"hello".to_vec(), b"!".to_vec())));
    assert!(decoder.is_ended());
    assert!(BodyDecoder::with_length(0).is_ended());
}

#[test]
fn only_a_body_without_framing_may_end_with_the_connection() {
    assert!(BodyDecoder::UntilClose.end());
    assert!(BodyDecoder::Ended.end());
    assert!(!BodyDecoder::with_length(1).end());
    assert!(!BodyDecoder::chunked().end());
}

proptest! {
    #[test]
    fn any_split_gives_the_same_body(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..8),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut whole = Vec::new();
        for chunk in &chunks {
            whole.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
            whole.extend_from_slice(chunk);
            whole.extend_from_slice(b"\r\n");
        }
        whole.extend_from_slice(b"0\r\n\r\n");
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len())).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
        let mut decoder = BodyDecoder::chunked();
        prop_assert_eq!(decode_all(&mut decoder, &pieces), Ok((chunks.concat(), Vec::new())));
        prop_assert!(decoder.is_ended());
    }
}
