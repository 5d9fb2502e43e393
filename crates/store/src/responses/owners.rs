//! Owners of objects that a provider stores and the gateway only passed on: files, batches, conversations, completions.

use domain::clock::Timestamp;

use super::{Inner, Owner, Responses, is_id, limited};
use crate::StoreError;
use crate::expiry::ExpiringTable;
use crate::write_behind::{Aged, BatchSink, Queued};

const FIND: &str = "SELECT owner, user_path, tenant, provider, created_at, expires_at FROM object_owners \
     WHERE id = $1 AND expires_at > $2";
/// Keeps the first owner: a provider that repeats an id must not give an object to another owner.
const INSERT: &str = "INSERT INTO object_owners (id, owner, user_path, tenant, provider, created_at, expires_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";
pub(crate) const EXPIRING: ExpiringTable =
    ExpiringTable { name: "object_owners", time: "expires_at", key: "id" };

/// The id of an object and its owner.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedObject {
    pub id: String,
    pub owner: Owner,
    /// The instance at which it was created.
    pub provider: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Queued for OwnedObject {
    const NAME: &'static str = "object owners";

    fn id(&self) -> &str {
        &self.id
    }

    fn weight(&self) -> usize {
        0
    }

    fn without_texts(&self) -> Self {
        self.clone()
    }

    fn gives_way_to(&self, _: &Self) -> bool {
        false
    }
}

impl BatchSink<OwnedObject> for Inner {
    async fn write(&self, batch: &[Aged<OwnedObject>]) -> Result<(), StoreError> {
        self.database
            .limited(async {
                let mut open = self.database.begin().await?;
                for (_, object) in batch {
                    let values = [
                        (&object.id).into(),
                        (&object.owner.key).into(),
                        (&object.owner.user_path).into(),
                        object.owner.tenant.as_deref().into(),
                        (&object.provider).into(),
                        object.created_at.micros().into(),
                        object.expires_at.micros().into(),
                    ];
                    open.execute(INSERT, &values).await?;
                }
                open.commit().await
            })
            .await
    }
}

impl Responses {
    /// Queues an owner. It is visible to this process when this returns, to others once `run` has written it. The first
    /// owner of an id is kept.
    pub fn record_owner(&self, object: OwnedObject) {
        let Owner { key, user_path, tenant } = &object.owner;
        let texts = [key, user_path, &object.provider].into_iter().chain(tenant);
        if !is_id(&object.id) || texts.into_iter().any(|text| text.contains('\0')) {
            tracing::warn!(length = object.id.len(), "owner not recorded: invalid id or owner");
            return;
        }
        self.0.owners.put(object);
    }

    /// The owner of an object that was created through the passthrough, with a storage timeout of one second.
    pub async fn owner_of(&self, id: &str) -> Result<Option<OwnedObject>, StoreError> {
        if !is_id(id) {
            return Ok(None);
        }
        let now = self.0.clock.now();
        if let Some(object) = self.0.owners.get(id) {
            return Ok((object.expires_at > now).then(|| (*object).clone()));
        }
        let rows = limited(self.0.database.fetch(FIND, &[id.into(), now.micros().into()])).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(OwnedObject {
            id: id.to_owned(),
            owner: Owner { key: row.get(0)?, user_path: row.get(1)?, tenant: row.get(2)? },
            provider: row.get(3)?,
            created_at: Timestamp(row.get(4)?),
            expires_at: Timestamp(row.get(5)?),
        }))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::testing::for_each_backend;

    fn object(id: &str, key: &str) -> OwnedObject {
        OwnedObject {
            id: id.into(),
            owner: Owner { key: key.into(), user_path: "/".into(), tenant: None },
            provider: "openai".into(),
            created_at: Timestamp(1),
            expires_at: Timestamp(i64::MAX),
        }
    }

    #[tokio::test]
    async fn the_first_owner_stays_before_and_after_it_is_written() {
        for_each_backend(|store| async move {
            let responses = store.responses().clone();
            responses.record_owner(object("file-1", "a"));
            responses.record_owner(object("file-1", "b"));
            assert_eq!(responses.owner_of("file-1").await.unwrap(), Some(object("file-1", "a")));
            let (stop, stopped) = watch::channel(true);
            Box::pin(responses.clone().run(stopped)).await;
            responses.record_owner(object("file-1", "b"));
            Box::pin(responses.clone().run(stop.subscribe())).await;
            assert_eq!(responses.owner_of("file-1").await.unwrap(), Some(object("file-1", "a")));
            assert_eq!(responses.owner_of("file-2").await.unwrap(), None);
            assert_eq!(responses.owner_of("").await.unwrap(), None);
            let gone = OwnedObject { expires_at: Timestamp(2), ..object("file-3", "a") };
            responses.record_owner(gone);
            Box::pin(responses.clone().run(stop.subscribe())).await;
            assert_eq!(responses.owner_of("file-3").await.unwrap(), None);
            assert_eq!(responses.expire(Timestamp(3)).await.unwrap(), 1);
        })
        .await;
    }
}
