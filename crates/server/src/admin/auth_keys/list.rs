//! `GET /auth-keys`: lists keys with paging, filters and sorting. Filters run on the snapshot, so that only one page is
//! read from storage.

use std::collections::HashMap;
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
use super::use_figures;
use super::view::{self, KeyFigures, KeyView};
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
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The keys that match all filters but `enabled` and `active`, by state.
    pub counts: KeyCounts,
    /// The time of the limits and costs.
    pub as_of: String,
}

/// Numbers of keys by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct KeyCounts {
    pub all: usize,
    /// Enabled and not expired.
    pub active: usize,
    /// The active ones that expire within 7 days.
    pub ending_soon: usize,
    /// Deactivated or expired.
    pub ended: usize,
}

impl KeyCounts {
    fn add(&mut self, key: &KeyFacts, now: Timestamp) {
        let is_active = is_active(key, now);
        let soon = Timestamp(now.micros().saturating_add(SOON_MICROS));
        self.all += 1;
        self.active += usize::from(is_active);
        self.ending_soon += usize::from(is_active && key.expires_at.is_some_and(|at| at <= soon));
        self.ended += usize::from(!is_active);
    }
}

/// The time before its end from which a key is counted as ending soon: 7 days.
const SOON_MICROS: i64 = 7 * 86_400_000_000;

/// Whether a key is enabled and not expired.
fn is_active(key: &KeyFacts, now: Timestamp) -> bool {
    key.active && key.expires_at.is_none_or(|at| now < at)
}

/// List managed keys, newest first by default, with the current use of their limits and their cost in 30 days.
#[utoipa::path(get, path = "/admin/api/v1/auth-keys", tag = "auth-keys",
    params(("limit" = Option<i64>, Query, description = "1 to 200, default 50"), ("offset" = Option<i64>, Query, description = "Default 0"),
        ("cursor" = Option<String>, Query, description = "What `next` of the page before said"),
        ("search" = Option<String>, Query, description = "Part of the name, id, description, user path, tenant or shown part of the value, in any case"),
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
    let cursor = query::text(&pairs, "cursor").map(Cursor::read).transpose()?;
    if cursor.is_some() && offset > 0 {
        return Err(fault::invalid_parameter("offset", "'offset' and 'cursor' exclude each other.").into());
    }
    let place = PagePlace { offset: offset as usize, cursor, limit: limit as usize };
    // Sorting many keys takes too long for a thread that serves calls.
    let choosing = app.gateway.tasks.spawn_blocking({
        let (app, snapshot) = (app.clone(), authorized.snapshot.clone());
        move || choice.page(&snapshot.keys, &app, &place, now)
    });
    let page = choosing.await.map_err(|_| fault::internal_error())?;
    let ids: Vec<&str> = page.ids.iter().map(|id| &**id).collect();
    let entries = shown(&app, &authorized.snapshot.keys, &ids, now).await?;
    Ok(Json(KeyList {
        entries,
        total: page.total as i64,
        limit,
        offset,
        next: page.next.map(|cursor| cursor.show()),
        counts: page.counts,
        as_of: record::time(now),
    }))
}

/// The position after an entry: its id and its place. The place is used if the key was deleted meanwhile.
struct Cursor {
    place: usize,
    id: String,
}

impl Cursor {
    fn read(text: &str) -> Result<Self, Fault> {
        let parts = text.split_once('.').filter(|(_, id)| !id.is_empty());
        let cursor =
            parts.and_then(|(place, id)| Some(Self { place: place.parse().ok()?, id: id.to_owned() }));
        cursor.ok_or_else(|| {
            fault::invalid_parameter("cursor", "'cursor' is not one that a page gave as 'next'.")
        })
    }

    fn show(&self) -> String {
        format!("{}.{}", self.place, self.id)
    }
}

/// The requested part of a list.
struct PagePlace {
    offset: usize,
    cursor: Option<Cursor>,
    limit: usize,
}

impl PagePlace {
    /// The place of the first entry in the sorted list.
    fn start(&self, keys: &[&Arc<KeyFacts>]) -> usize {
        let Some(cursor) = &self.cursor else { return self.offset };
        let found = keys.iter().position(|key| *key.id == *cursor.id);
        found.map_or(cursor.place, |found| found + 1)
    }
}

/// One page of the sorted list.
struct KeyPage {
    ids: Vec<Arc<str>>,
    total: usize,
    next: Option<Cursor>,
    counts: KeyCounts,
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

    /// Selects a page of the keys, and counts them.
    fn page(&self, keys: &Keys, app: &App, place: &PagePlace, now: Timestamp) -> KeyPage {
        let mut counts = KeyCounts::default();
        let concerned = keys.all().filter(|key| self.wanted.concerns(key));
        let counted = concerned.inspect(|key| counts.add(key, now));
        let mut keys: Vec<&Arc<KeyFacts>> = counted.filter(|key| self.wanted.has_state(key, now)).collect();
        self.arrange(&mut keys, app);
        let (total, start) = (keys.len(), place.start(&keys));
        let ids: Vec<Arc<str>> =
            keys.iter().skip(start).take(place.limit).map(|key| key.id.clone()).collect();
        let end = start.saturating_add(ids.len());
        let last = ids.last().filter(|_| end < total);
        let next = last.map(|id| Cursor { place: end, id: id.to_string() });
        KeyPage { ids, total, next, counts }
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
async fn shown(app: &App, keys: &Keys, page: &[&str], now: Timestamp) -> Result<Vec<KeyView>, Problem> {
    let store = app.refresher.store();
    let uses = store.ledger().key_uses(page).await?;
    let costs = use_figures::costs(app, page, now).await?;
    let stored = store.collection::<AuthKey>().named(page).await?;
    let mut stored: HashMap<String, Stored<AuthKey>> =
        stored.into_iter().map(|stored| (stored.value.id.clone(), stored)).collect();
    let found =
        page.iter().filter_map(|id| stored.remove(*id).or_else(|| app.refresher.configured_document(id)));
    let view = |stored: Stored<AuthKey>| {
        let id = &stored.value.id;
        let last_used_at = uses.get(id).copied().max(app.gateway.key_uses.of(id));
        let figures = KeyFigures {
            limit_use: use_figures::limit_use(app, keys, id, now),
            cost_30_days: costs.get(id).copied(),
        };
        KeyView { figures: Some(figures), ..view::view(app, stored, last_used_at, now) }
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

    /// Whether a key is in the requested state.
    fn has_state(&self, key: &KeyFacts, now: Timestamp) -> bool {
        self.enabled.is_none_or(|enabled| enabled == key.active)
            && self.active.is_none_or(|wanted| wanted == is_active(key, now))
    }

    /// Whether a key passes all other filters.
    fn concerns(&self, key: &KeyFacts) -> bool {
        [&self.tenant_id, &self.own_tenant]
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
    let user_path = key.user_path.as_ref().map_or("", UserPath::as_str);
    let tenant = key.tenant_id.as_deref().unwrap_or_default();
    [&*key.name, &*key.id, &*key.searchable, user_path, tenant]
        .iter()
        .any(|field| field.to_lowercase().contains(text))
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
