//! Distinguishes HTTP/2 with prior knowledge from HTTP/1.1 by the first bytes of a connection.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol of a new connection, and the bytes that were read to detect it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) http2: bool,
    /// Bytes to replay before those that the socket delivers next. Empty unless the preface arrived in pieces.
    pub(crate) consumed: Vec<u8>,
}

/// Waits for the first bytes. Returns `None` if the peer closed the connection before it sent a request.
///
/// The first attempt is a peek, so that nearly all connections are handed on untouched. Only a partial preface is read:
/// a socket with unread bytes stays readable, so peeking again would spin and would not see the peer's FIN.
pub(crate) async fn detect(stream: &mut TcpStream) -> io::Result<Option<Detected>> {
    let mut bytes = [0u8; PREFACE.len()];
    let peeked = stream.peek(&mut bytes).await?;
    if peeked == 0 {
        return Ok(None);
    }
    if peeked == PREFACE.len() || !PREFACE.starts_with(&bytes[..peeked]) {
        return Ok(Some(Detected { http2: bytes == *PREFACE, consumed: Vec::new() }));
    }
    let mut filled = 0;
    while filled < PREFACE.len() && PREFACE.starts_with(&bytes[..filled]) {
        match stream.read(&mut bytes[filled..]).await? {
            0 => return Ok(None),
            count => filled += count,
        }
    }
    Ok(Some(Detected { http2: bytes[..filled] == *PREFACE, consumed: bytes[..filled].to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{Future as _, poll_fn};
    use std::pin::pin;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.set_nodelay(true).unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    async fn detect_pieces(pieces: &[&[u8]], close: bool) -> Option<Detected> {
        let (mut client, mut server) = pair().await;
        let sending = async {
            for piece in pieces {
                client.write_all(piece).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            if close {
                client.shutdown().await.unwrap();
            }
        };
        let (detected, ()) = tokio::join!(detect(&mut server), sending);
        detected.unwrap()
    }

    #[tokio::test]
    async fn detects_the_protocol_from_whole_and_split_prefaces() {
        let found = |http2, consumed: &[u8]| Some(Detected { http2, consumed: consumed.to_vec() });
        let request = b"POST /v1/chat/completions HTTP/1.1\r\n";
        assert_eq!(detect_pieces(&[PREFACE], false).await, found(true, b""));
        assert_eq!(detect_pieces(&[request], false).await, found(false, b""));
        assert_eq!(detect_pieces(&[&PREFACE[..3], &PREFACE[3..]], false).await, found(true, PREFACE));
        assert_eq!(
            detect_pieces(&[b"P", b"OST / HTTP/1.1\r\n"], false).await,
            found(false, b"POST / HTTP/1.1\r\n")
        );
        assert_eq!(detect_pieces(&[b"PRI * HTTP/1.1\r\n"], false).await, found(false, b""));
    }

    #[tokio::test]
    async fn a_close_before_the_request_is_noticed() {
        assert_eq!(detect_pieces(&[], true).await, None);
        assert_eq!(detect_pieces(&[b"P"], true).await, None);
        assert_eq!(detect_pieces(&[b"PRI * ", b"HTTP"], true).await, None);
    }

    #[tokio::test]
    async fn a_partial_preface_does_not_poll() {
        let (mut client, mut server) = pair().await;
        client.write_all(b"P").await.unwrap();
        let mut polls = 0;
        let mut detecting = pin!(detect(&mut server));
        let counted = poll_fn(|context| {
            polls += 1;
            detecting.as_mut().poll(context)
        });
        assert!(tokio::time::timeout(Duration::from_millis(200), counted).await.is_err(), "it waits");
        assert!(polls <= 4, "{polls} polls without new bytes");
    }
}
