//! The key of a document: tenant, kind and name.

use crate::database::Value;

/// The tenant of all documents in an installation without tenants.
pub const DEFAULT_TENANT: &str = "";

#[derive(Clone, Copy)]
pub(super) struct DocumentKey<'a> {
    pub tenant: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
}

impl<'a> DocumentKey<'a> {
    /// The values of the key columns, in their order.
    pub fn values(self) -> [Value<'a>; 3] {
        [self.tenant.into(), self.kind.into(), self.name.into()]
    }

    /// The text that encrypted fields are bound to. That of the default tenant is as it was before there were others;
    /// no kind contains a `|`.
    pub fn location(self) -> String {
        let Self { tenant, kind, name } = self;
        match tenant {
            DEFAULT_TENANT => format!("{kind}/{name}"),
            _ => format!("{tenant}|{kind}/{name}"),
        }
    }
}
