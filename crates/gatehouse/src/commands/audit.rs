//! `gatehouse audit verify`: verifies the integrity of the audit log without a running gateway.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use domain::clock::{Clock, Timestamp};
use domain::ids::Entropy;
use store::{AuditBreak, AuditVerification};

use super::serve::assemble::open_store;
use super::{BAD_CONFIGURATION, block_on, load_settings};
use crate::settings::{Settings, StorageType};
use crate::system::{SystemClock, SystemEntropy};

/// Verifies the audit log. Exit status: 0 if it is intact, 1 if it was changed, 2 if it could not be checked.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to whoever typed it")]
pub fn verify(config: Option<&Path>, json: bool) -> ExitCode {
    match look(config) {
        Ok(found) => {
            print!("{}", if json { as_json(&found) } else { as_text(&found) });
            if found.breaks.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(reason) => {
            eprintln!("{}", reason.trim_end());
            ExitCode::from(BAD_CONFIGURATION)
        }
    }
}

fn look(config: Option<&Path>) -> Result<AuditVerification, String> {
    let settings = load_settings(config)?;
    block_on(walk(&settings))
}

async fn walk(settings: &Settings) -> Result<AuditVerification, String> {
    let file = settings.storage.sqlite_file();
    if settings.storage.kind == StorageType::Sqlite && !file.exists() {
        return Err(format!("There is no database at {}.", file.display()));
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let store = open_store(settings, &clock, &entropy).await?;
    let found =
        store.audit().verify().await.map_err(|error| format!("The audit log cannot be read: {error}"));
    store.close().await;
    found
}

fn as_text(found: &AuditVerification) -> String {
    let mut text = format!("{} chains, {} rows verified\n", found.chains, found.rows);
    if found.breaks.is_empty() {
        text.push_str("Every row is as it was written.\n");
    }
    for broken in &found.breaks {
        let _ = writeln!(text, "BROKEN: {}", describe(broken));
    }
    text
}

fn describe(broken: &AuditBreak) -> String {
    let mut text = format!("{} in chain {}", broken.kind, broken.chain);
    if let Some(sequence) = broken.sequence {
        let _ = write!(text, ", row {sequence}");
    }
    if let Some(id) = &broken.id {
        let _ = write!(text, ", entry {id}");
    }
    if let Some(at) = broken.at {
        let _ = write!(text, " of {}", moment(Timestamp(at)));
    }
    let _ = write!(text, ": {}", broken.message);
    text
}

fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.micros()).map(|at| format!("{at:.3}")).unwrap_or_default()
}

fn as_json(found: &AuditVerification) -> String {
    let mut value = serde_json::to_value(found).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("intact".into(), found.breaks.is_empty().into());
    }
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_break_is_reported_with_its_position() {
        let broken = AuditBreak {
            kind: "changed",
            chain: "c1".into(),
            sequence: Some(4),
            id: Some("e5".into()),
            at: Some(1_767_225_600_000_000),
            message: "this row is not the one that was written".into(),
        };
        let found = AuditVerification { chains: 1, rows: 4, breaks: vec![broken] };
        insta::assert_snapshot!(as_text(&found), @r"
        1 chains, 4 rows verified
        BROKEN: changed in chain c1, row 4, entry e5 of 2026-01-01T00:00:00.000Z: this row is not the one that was written
        ");
        let whole = AuditVerification { chains: 2, rows: 9, breaks: vec![] };
        insta::assert_snapshot!(as_text(&whole), @r"
        2 chains, 9 rows verified
        Every row is as it was written.
        ");
        let shown: serde_json::Value = serde_json::from_str(&as_json(&whole)).unwrap();
        assert_eq!(shown, serde_json::json!({"intact": true, "chains": 2, "rows": 9, "breaks": []}));
    }

    #[test]
    fn the_password_of_an_address_is_a_secret() {
        use crate::commands::serve::assemble::password;
        use domain::secret::Secret;
        for (address, expected) in [
            ("postgres://user:p@ss:word@host/db", Some("p@ss:word")),
            ("postgres://user@host/db", None),
            ("postgres://host:5432/db", None),
            ("http://host", None),
        ] {
            let found = password(&Secret::new(address));
            assert_eq!(found.as_ref().map(Secret::reveal), expected, "{address}");
        }
    }
}
