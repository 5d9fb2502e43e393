//! `GET /auth-keys`: lists keys with paging, filters and sorting. Filters run on the snapshot, so that only one page is
//! read from storage.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::principal::{KeyFacts, Principal};
use domain::resources::auth_key::AuthKey;
use domain::scope::Scope;
use domain::user_path::UserPath;
use pipeline::snapshot::keys::Keys;
use serde::Serialize;
use store::Stored;
use utoipa::ToSchema;

use super::super::record;
use super::view::{self, KeyView};
use crate::App;
use crate::authorized::{AuthKeys, Authorized, Read};
use crate::fault::Problem;
use crate::query::{self, Pairs};

const LONGEST_SEARCH: usize = 200;

#[derive(Serialize, ToSchema)]
pub struct KeyList {
    pub entries: Vec<KeyView>,
    pub total: i64,
    pub limit: i64,
    pub offset: i64,
}

/// List managed keys, newest first by default.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys", tag = "auth-keys",
    params(("limit" = Option<i64>, Query, description = "1 to 200, default 50"), ("offset" = Option<i64>, Query, description = "Default 0"),
        ("search" = Option<String>, Query, description = "Part of the name, the id or the description, in any case"),
        ("user_path" = Option<String>, Query, description = "A subtree"), ("tenant_id" = Option<String>, Query, description = "Only this tenant"),
        ("enabled" = Option<bool>, Query, description = "Not deactivated, or deactivated"),
        ("active" = Option<bool>, Query, description = "Enabled and not expired, or not"),
        ("scope" = Option<String>, Query, description = "Only keys with this scope in their list"),
        ("sort" = Option<String>, Query, description = "created_at, -created_at (default), name, -name, last_used_at or -last_used_at")),
    responses((status = 200, description = "The keys", body = KeyList), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "A user path beyond the caller's own")),
    security(("bearer" = ["admin:auth-keys:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<AuthKeys>>,
    Query(pairs): Query<Pairs>,
) -> Result<Json<KeyList>, Problem> {
    let (limit, offset) = record::page(&pairs, 50, 200)?;
    let now = app.gateway.clock.now();
    let choice = Choice::read(&pairs, &app, &authorized.principal).await?;
    let range = offset as usize..(offset as usize).saturating_add(limit as usize);
    // Sorting many keys takes too long for a thread that serves calls.
    let choosing = app.gateway.tasks.spawn_blocking({
        let (app, snapshot) = (app.clone(), authorized.snapshot);
        move || choice.page(&snapshot.keys, &app, range, now)
    });
    let (page, total) = choosing.await.map_err(|_| fault::internal_error())?;
    let page: Vec<&str> = page.iter().map(|id| &**id).collect();
    let entries = shown(&app, &page, now).await?;
    Ok(Json(KeyList { entries, total: total as i64, limit, offset }))
}

/// Filter and sort order of a list request.
struct Choice {
    wanted: KeyFilter,
    order: Order,
    /// Last use of each key, filled only when sorting by it.
    uses: HashMap<String, Timestamp>,
}

impl Choice {
    async fn read(pairs: &Pairs, app: &App, principal: &Principal) -> Result<Self, Problem> {
        let (wanted, order) = (KeyFilter::read(pairs, principal)?, Order::read(pairs)?);
        let uses = match order.field {
            Field::LastUsedAt => app.refresher.store().ledger().all_key_uses().await?,
            _ => HashMap::new(),
        };
        Ok(Self { wanted, order, uses })
    }

    /// Returns the ids of a page, and the total number of keys.
    fn page(&self, keys: &Keys, app: &App, range: Range<usize>, now: Timestamp) -> (Vec<Arc<str>>, usize) {
        let mut keys: Vec<&Arc<KeyFacts>> = keys.all().filter(|key| self.wanted.admits(key, now)).collect();
        self.arrange(&mut keys, app);
        let total = keys.len();
        let page = keys.into_iter().skip(range.start).take(range.len());
        (page.map(|key| key.id.clone()).collect(), total)
    }

    /// Sorts the keys. An id starts with its creation time, so sorting by id first makes the order stable, with older
    /// keys first.
    fn arrange(&self, keys: &mut [&Arc<KeyFacts>], app: &App) {
        keys.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        match self.order.field {
            Field::CreatedAt => {}
            Field::Name => keys.sort_by_cached_key(|key| key.name.to_lowercase()),
            Field::LastUsedAt => {
                let last = |id: &str| self.uses.get(id).copied().max(app.gateway.key_uses.of(id));
                keys.sort_by_cached_key(|key| last(&key.id));
            }
        }
        if self.order.descending {
            keys.reverse();
        }
    }
}

/// Reads one page from storage; a key deleted in the meantime is left out.
async fn shown(app: &App, page: &[&str], now: Timestamp) -> Result<Vec<KeyView>, Problem> {
    let store = app.refresher.store();
    let uses = store.ledger().key_uses(page).await?;
    let stored = store.collection::<AuthKey>().named(page).await?;
    let mut stored: HashMap<String, Stored<AuthKey>> =
        stored.into_iter().map(|stored| (stored.value.id.clone(), stored)).collect();
    let found =
        page.iter().filter_map(|id| stored.remove(*id).or_else(|| app.refresher.configured_document(id)));
    let view = |stored: Stored<AuthKey>| {
        let id = &stored.value.id;
        let last_used_at = uses.get(id).copied().max(app.gateway.key_uses.of(id));
        view::view(app, stored, last_used_at, now)
    };
    Ok(found.map(view).collect())
}

/// The filter of a list request.
struct KeyFilter {
    /// In lower case.
    search: Option<String>,
    user_path: Option<UserPath>,
    tenant_id: Option<String>,
    /// The tenant of the caller, whose keys alone it sees.
    own_tenant: Option<String>,
    enabled: Option<bool>,
    active: Option<bool>,
    scope: Option<Scope>,
}

impl KeyFilter {
    fn read(pairs: &Pairs, principal: &Principal) -> Result<Self, Fault> {
        let search = query::text(pairs, "search").map(str::to_lowercase);
        if search.as_ref().is_some_and(|text| text.chars().count() > LONGEST_SEARCH) {
            let message = format!("'search' has at most {LONGEST_SEARCH} characters.");
            return Err(fault::invalid_parameter("search", message));
        }
        let scope = query::text(pairs, "scope")
            .map(|name| name.parse().map_err(|reason: String| fault::invalid_parameter("scope", reason)));
        Ok(Self {
            search,
            user_path: subtree(pairs, principal)?,
            tenant_id: query::text(pairs, "tenant_id").map(str::to_owned),
            own_tenant: principal.tenant().map(|tenant| tenant.to_string()),
            enabled: truth(pairs, "enabled")?,
            active: truth(pairs, "active")?,
            scope: scope.transpose()?,
        })
    }

    fn admits(&self, key: &KeyFacts, now: Timestamp) -> bool {
        let active = key.active && key.expires_at.is_none_or(|at| now < at);
        self.enabled.is_none_or(|enabled| enabled == key.active)
            && self.active.is_none_or(|wanted| wanted == active)
            && [&self.tenant_id, &self.own_tenant]
                .iter()
                .all(|wanted| wanted.is_none() || wanted.as_deref() == key.tenant_id.as_deref())
            && self.scope.is_none_or(|scope| key.scopes.contains(&scope))
            && self.user_path.as_ref().is_none_or(|path| covers(path, key))
            && self.search.as_deref().is_none_or(|text| mentions(key, text))
    }
}

/// Whether a key is in the subtree; a key without a user path belongs to the root.
fn covers(path: &UserPath, key: &KeyFacts) -> bool {
    match &key.user_path {
        Some(own) => path.covers(own),
        None => path.as_str() == "/",
    }
}

fn mentions(key: &KeyFacts, text: &str) -> bool {
    [&*key.name, &*key.id, &*key.description].iter().any(|field| field.to_lowercase().contains(text))
}

/// The requested subtree, which must lie within the caller's own.
fn subtree(pairs: &Pairs, principal: &Principal) -> Result<Option<UserPath>, Fault> {
    let own = principal.own_path().cloned();
    let asked = query::text(pairs, "user_path")
        .map(|path| UserPath::parse(path).map_err(|reason| fault::invalid_parameter("user_path", reason)))
        .transpose()?;
    match (own, asked) {
        (Some(own), Some(asked)) if !own.covers(&asked) => {
            Err(fault::user_path_denied(asked.as_str(), own.as_str()).param("user_path"))
        }
        (own, asked) => Ok(asked.or(own)),
    }
}

fn truth(pairs: &Pairs, name: &str) -> Result<Option<bool>, Fault> {
    match query::text(pairs, name) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(fault::invalid_parameter(name, format!("'{name}' is true or false."))),
    }
}

#[derive(Clone, Copy)]
enum Field {
    CreatedAt,
    Name,
    LastUsedAt,
}

struct Order {
    field: Field,
    descending: bool,
}

impl Order {
    fn read(pairs: &Pairs) -> Result<Self, Fault> {
        let text = query::text(pairs, "sort").unwrap_or("-created_at");
        let (name, descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        let field = match name {
            "created_at" => Field::CreatedAt,
            "name" => Field::Name,
            "last_used_at" => Field::LastUsedAt,
            _ => {
                let message =
                    "'sort' is created_at, name or last_used_at, with a '-' before it for descending.";
                return Err(fault::invalid_parameter("sort", message));
            }
        };
        Ok(Self { field, descending })
    }
}
