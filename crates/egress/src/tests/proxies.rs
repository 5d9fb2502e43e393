//! HTTP proxies: absolute URLs for http, tunnels for https.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::secure::Secure;
use super::upstream::{OK, Upstream, egress, post, text};
use crate::{Egress, EgressConfig, EgressErrorKind, ProxySettings, Trust};

async fn proxy(answers: &'static [&'static str]) -> (Upstream, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |mut peer, _| {
        let sender = sender.clone();
        async move {
            for answer in answers {
                let Some(request) = peer.request().await else { return };
                sender.send(request).unwrap();
                peer.say(answer).await;
            }
        }
    })
    .await;
    (upstream, receiver)
}

fn through(proxy: &Upstream, no_proxy: &[&str]) -> Egress {
    let url = Some(format!("http://user:pass@127.0.0.1:{}", proxy.port));
    let no_proxy = no_proxy.iter().map(|rule| (*rule).to_owned()).collect();
    egress(EgressConfig {
        proxy: ProxySettings { http: url.clone(), https: url, no_proxy },
        ..EgressConfig::default()
    })
}

#[tokio::test]
async fn plain_http_is_sent_in_absolute_form() {
    let (proxy, mut seen) = proxy(&[OK, OK]).await;
    let egress = through(&proxy, &[]);
    let destination = egress.destination("http://upstream.invalid:8080/base", Trust::Operator).unwrap();
    for _ in 0..2 {
        assert_eq!(text(&egress, &destination).await, "ok");
        let request = seen.recv().await.unwrap();
        assert!(request.starts_with("POST http://upstream.invalid:8080/base/ HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("host: upstream.invalid:8080\r\n"), "{request}");
        assert!(request.contains("proxy-authorization: Basic dXNlcjpwYXNz\r\n"), "{request}");
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn https_asks_for_a_tunnel() {
    let (proxy, mut seen) = proxy(&["HTTP/1.1 200 Connection established\r\n\r\n"]).await;
    let egress = through(&proxy, &[]);
    let destination = egress.destination("https://upstream.invalid", Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Tls, "the tunnel ends before TLS: {error}");
    let request = seen.recv().await.unwrap();
    assert!(
        request.starts_with("CONNECT upstream.invalid:443 HTTP/1.1\r\nHost: upstream.invalid:443\r\n"),
        "{request}"
    );
    assert!(request.contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{request}");
}

/// The proxy forwards to a real TLS server, whatever host name is requested.
#[tokio::test]
async fn a_call_travels_through_the_tunnel() {
    let server = Secure::start(true).await;
    let target = server.port;
    let proxy = Upstream::start(move |mut peer, _| async move {
        peer.request().await.unwrap();
        peer.say("HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n").await;
        let mut onward = tokio::net::TcpStream::connect(("127.0.0.1", target)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut peer.stream, &mut onward).await;
    })
    .await;
    let url = Some(format!("127.0.0.1:{}", proxy.port));
    let settings = ProxySettings { https: url, ..ProxySettings::default() };
    let egress = egress(EgressConfig {
        proxy: settings,
        extra_roots: Some(server.roots.clone()),
        ..EgressConfig::default()
    });
    let destination = egress.destination("https://upstream.invalid", Trust::Operator).unwrap();
    assert_eq!(text(&egress, &destination).await, "hello");
    assert_eq!(text(&egress, &destination).await, "hello");
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn a_refused_tunnel_is_a_proxy_fault_without_the_password() {
    let (proxy, _seen) = proxy(&["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"]).await;
    let egress = through(&proxy, &[]);
    let destination = egress.destination("https://upstream.invalid", Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Proxy);
    assert!(error.reason().contains("407") && !error.reason().contains("pass"), "{error}");
    assert!(error.is_connect());
}

#[tokio::test]
async fn exempt_and_local_destinations_go_directly() {
    let (proxy, _seen) = proxy(&[OK]).await;
    let direct = Upstream::start(|mut peer, _| async move {
        peer.request().await;
        peer.say(OK).await;
    })
    .await;
    let egress = through(&proxy, &["*.invalid"]);
    assert_eq!(text(&egress, &direct.destination(&egress)).await, "ok");
    let destination = egress.destination("http://upstream.invalid", Trust::Operator).unwrap();
    let error = egress.send(post(&destination, "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Dns);
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn the_destination_rules_hold_behind_a_proxy() {
    let (proxy, _seen) = proxy(&[OK]).await;
    let egress = through(&proxy, &[]);
    let strict = Trust::Admin { allow_private: false, loopback_listener: false };
    assert!(egress.destination("http://10.0.0.1", strict).is_err());
    let destination = egress.destination("http://2852039166", strict).unwrap();
    let error = egress.send(post(&Arc::clone(&destination), "/", &[])).await.err().unwrap();
    assert_eq!(error.kind(), EgressErrorKind::Forbidden);
    assert_eq!(proxy.connections(), 0);
}
