//! Proposed configurations: compiled from the stored documents and changes of them, and never put in force.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use domain::resources::Resource;
use store::{DEFAULT_TENANT, RawDocument, StoreError};

use super::Refresher;
use super::sections::{RouteSections, WorkflowSections};
use super::tenant_views::AffectedTenants;
use crate::snapshot::Snapshot;

/// Changes of documents that are laid over those in storage: by tenant, kind and name, the JSON body, or `None` for a
/// document that is deleted.
#[derive(Default)]
pub struct ProposedDocuments(BTreeMap<(String, &'static str, String), Option<String>>);

impl ProposedDocuments {
    /// Adds a document of a tenant, in place of its stored one of that name.
    pub fn put<T: Resource>(&mut self, tenant: &str, document: &T) -> Result<(), StoreError> {
        let body = serde_json::to_string(document).map_err(|error| StoreError::Failed(error.to_string()))?;
        self.0.insert((tenant.to_owned(), T::KIND, document.name().to_owned()), Some(body));
        Ok(())
    }

    /// Deletes a document of a tenant.
    pub fn delete(&mut self, tenant: &str, kind: &'static str, name: &str) {
        self.0.insert((tenant.to_owned(), kind, name.to_owned()), None);
    }

    /// Whether a document of one of these kinds is changed.
    fn concern(&self, kinds: &[&str]) -> bool {
        self.0.keys().any(|(_, kind, _)| kinds.contains(kind))
    }

    /// Changes the documents of all tenants but the default one.
    pub(super) fn lay_over_tenants(&self, tenants: &mut BTreeMap<String, Vec<RawDocument>>, at: Timestamp) {
        for (tenant, kind, _) in self.0.keys().filter(|(tenant, ..)| tenant != DEFAULT_TENANT) {
            let documents = tenants.entry(tenant.clone()).or_default();
            let (changed, mut others): (Vec<_>, Vec<_>) =
                std::mem::take(documents).into_iter().partition(|document| document.kind == *kind);
            others.extend(self.lay_over(tenant, kind, changed, at));
            *documents = others;
        }
    }

    /// The documents of a tenant of one kind after the changes.
    pub(super) fn lay_over(
        &self,
        tenant: &str,
        kind: &'static str,
        mut stored: Vec<RawDocument>,
        at: Timestamp,
    ) -> Vec<RawDocument> {
        let changes = self.0.iter().filter(|((of, changed, _), _)| *of == tenant && *changed == kind);
        for ((_, _, name), body) in changes {
            stored.retain(|document| document.name != *name);
            stored.extend(body.as_ref().map(|body| RawDocument {
                tenant: tenant.to_owned(),
                kind: kind.to_owned(),
                name: name.clone(),
                body: body.clone(),
                revision: 0,
                created_at: at,
                updated_at: at,
                updated_by: String::new(),
                broken: None,
            }));
        }
        stored
    }
}

impl Refresher {
    /// Compiles the configuration that would be in force if these documents were stored, from the same inputs as a
    /// refresh. Nothing is stored or put in force, and the state of targets is not changed. Parts that the documents do
    /// not concern are those of `base`; keys and budgets never change.
    pub async fn propose(
        &self,
        base: &Snapshot,
        proposed: &ProposedDocuments,
    ) -> Result<Snapshot, StoreError> {
        let mut snapshot = base.clone();
        let (has_routes, has_workflows) =
            (proposed.concern(RouteSections::KINDS), proposed.concern(WorkflowSections::KINDS));
        if !has_routes && !has_workflows {
            return Ok(snapshot);
        }
        let tenants = self.tenant_documents(Some(proposed)).await?;
        if has_routes {
            let (routes, errors) = self.routes(&tenants, None, Some(proposed)).await?;
            snapshot.routes = routes;
            snapshot.document_errors.replace_kinds(RouteSections::KINDS, errors);
        }
        if has_workflows {
            let (guardrails, workflows, errors) = self.workflows(None, Some(proposed)).await?;
            (snapshot.guardrails, snapshot.workflows) = (guardrails, workflows);
            snapshot.document_errors.replace_kinds(WorkflowSections::KINDS, errors);
        }
        snapshot.tenant_views =
            self.tenant_views(&snapshot, &tenants, &AffectedTenants::All, Some(proposed)).await?;
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use domain::resources::alias::Alias;
    use domain::resources::pool::Pool;

    use super::*;

    fn stored(name: &str) -> RawDocument {
        RawDocument {
            tenant: String::new(),
            kind: Alias::KIND.to_owned(),
            name: name.to_owned(),
            body: format!(r#"{{"name":"{name}","target":"stored"}}"#),
            revision: 3,
            created_at: Timestamp(1),
            updated_at: Timestamp(2),
            updated_by: "master".to_owned(),
            broken: None,
        }
    }

    #[test]
    fn changes_replace_add_and_delete_documents_of_their_kind() {
        let alias = |name: &str| Alias {
            name: name.to_owned(),
            target: "proposed".to_owned(),
            description: String::new(),
        };
        let mut proposed = ProposedDocuments::default();
        proposed.put("", &alias("b")).unwrap();
        proposed.put("", &alias("d")).unwrap();
        proposed.put("acme", &alias("a")).unwrap();
        proposed.delete("", Alias::KIND, "c");
        proposed.delete("", Alias::KIND, "missing");
        proposed.delete("", Pool::KIND, "a");
        let documents = vec![stored("a"), stored("b"), stored("c")];
        let documents = proposed.lay_over("", Alias::KIND, documents, Timestamp(7));
        let mut found: Vec<(String, String)> = documents
            .iter()
            .map(|document| store::decode::<Alias>(document).unwrap().value)
            .map(|alias| (alias.name, alias.target))
            .collect();
        found.sort();
        let expected = [("a", "stored"), ("b", "proposed"), ("d", "proposed")];
        assert_eq!(found, expected.map(|(name, target)| (name.to_owned(), target.to_owned())));
        let mut tenants = BTreeMap::from([("other".to_owned(), vec![stored("b")])]);
        proposed.lay_over_tenants(&mut tenants, Timestamp(7));
        let names = |tenant: &str| tenants[tenant].iter().map(|document| &*document.name).collect::<Vec<_>>();
        assert_eq!((names("acme"), names("other")), (vec!["a"], vec!["b"]));
        assert!(proposed.concern(&[Pool::KIND]) && !proposed.concern(&["guardrail"]));
    }
}
