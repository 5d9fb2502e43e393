//! Tests of creating, listing and revoking keys in a database.

use clap::Parser;
use store::{Backend, StoreConfig};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    action: Action,
}

fn parse(words: &[&str]) -> Result<Action, String> {
    let line = Line::try_parse_from(std::iter::once("keys").chain(words.iter().copied()));
    line.map(|line| line.action).map_err(|error| error.to_string())
}

async fn open(directory: &Path) -> Store {
    let config = StoreConfig {
        backend: Backend::Sqlite { path: directory.join("gatehouse.db") },
        sealing_key: [7; 32],
        operation_timeout: Duration::from_secs(20),
        entropy: Arc::new(SystemEntropy),
    };
    Store::open(config, Arc::new(SystemClock)).await.unwrap()
}

async fn made(store: &Store, words: &[&str]) -> (String, AuthKey) {
    let Ok(Action::Create(wish)) = parse(words) else { panic!("{words:?}") };
    let output = create(store, &wish, &SystemClock, &SystemEntropy).await.unwrap();
    let raw = output.result.trim_end().to_owned();
    let keys = store.collection::<AuthKey>().all().await.unwrap();
    let key = keys.into_iter().map(|stored| stored.value).find(|key| output.note.contains(&key.id)).unwrap();
    (raw, key)
}

#[tokio::test]
async fn a_key_is_made_listed_and_revoked() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let (raw, plain) = made(&store, &["create", "--name", "plain"]).await;
    assert!(auth_key::is_well_formed(&raw));
    let expected = AuthKey::new(plain.id.clone(), "plain", &Secret::new(raw));
    assert_eq!(plain, expected, "for inference, without limits");
    let words = "create --name full --scope inference --scope admin:usage:read --user-path team//ci/ --expires-in 30d";
    let words: Vec<&str> = words.split(' ').collect();
    let (_, full) = made(&store, &words).await;
    assert_eq!(
        full.scopes.iter().map(Scope::to_string).collect::<Vec<_>>(),
        ["inference", "admin:usage:read"]
    );
    assert_eq!(full.user_path.as_deref(), Some("/team/ci"));
    let now = SystemClock.now();
    let left = (full.expires_at.unwrap().micros() - now.micros()) / 1_000_000;
    assert!((30 * 86_400 - 60..=30 * 86_400).contains(&left), "{left}");

    let output = revoke(&store, &plain.id, now).await.unwrap();
    assert!(output.note.starts_with("Revoked"), "{output:?}");
    let again = revoke(&store, &plain.id, now).await.unwrap();
    assert!(again.note.contains("already"), "{again:?}");
    assert_eq!(revoke(&store, "key_none", now).await.unwrap_err(), StoreError::NotFound);

    let listed = list(&store, now).await.unwrap().result;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines[0].ends_with("LAST USED"), "{listed}");
    let line = |id: &str| *lines.iter().find(|line| line.starts_with(id)).unwrap();
    assert!(line(&plain.id).contains("revoked") && line(&plain.id).ends_with("never"), "{listed}");
    for part in ["full", "inference,admin:usage:read", "/team/ci", "until 2"] {
        assert!(line(&full.id).contains(part), "{part} in {listed}");
    }
    let change =
        &store.documents().changes(&store::ChangeFilter { limit: 1, ..Default::default() }).await.unwrap()[0];
    assert_eq!((&*change.actor, &*change.action, &*change.name), ("cli", "update", &*plain.id));
}

#[test]
fn a_bad_line_is_refused_with_its_reason() {
    for (words, reason) in [
        (&["create"][..], "--name"),
        (&["create", "--name", "a", "--scope", "root"], "unknown scope"),
        (&["create", "--name", "a", "--user-path", "/a/../b"], "segment"),
        (&["create", "--name", "a", "--expires-in", "soon"], "30d"),
        (&["create", "--name", "a", "--expires-in", "0"], "30d"),
        (&["revoke"], "<ID>"),
    ] {
        let said = parse(words).err().unwrap();
        assert!(said.contains(reason), "{words:?}: {said}");
    }
}

#[test]
fn a_name_does_not_steer_the_terminal() {
    assert_eq!(printable("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
}
