//! `POST /model-pricing/import`: imports many prices in one transaction, with an optional dry run.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::model_price::ModelPrice;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::StoreError;
use utoipa::ToSchema;

use super::export::VERSION;
use crate::App;
use crate::admin::crud::Served as _;
use crate::admin::names::Names;
use crate::authorized::{Authorized, ModelPricing, Write};
use crate::body::{self, Strict};
use crate::fault::Problem;
use crate::tenant_access::TenantAccess;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ImportMode)]
pub enum Mode {
    /// Writes nothing. `deleted` is the number that `replace` would delete.
    DryRun,
    /// Keeps prices that are not in the import.
    Merge,
    /// Deletes prices that are not in the import.
    Replace,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceImport {
    pub mode: Mode,
    /// Version of the exported document.
    #[serde(default)]
    pub version: Option<u32>,
    #[schema(value_type = Vec<ModelPrice>)]
    pub prices: Vec<Value>,
}

#[derive(Serialize, ToSchema)]
pub struct ImportResult {
    pub mode: Mode,
    #[serde(flatten)]
    pub difference: Difference,
    /// Filled only by a dry run; other modes fail on errors and write nothing.
    pub errors: Vec<ImportError>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct Difference {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub deleted: usize,
}

#[derive(Serialize, ToSchema)]
pub struct ImportError {
    pub index: usize,
    pub selector: Option<String>,
    pub message: String,
    #[serde(skip)]
    fault: Fault,
}

/// Maximum number of prices in one transaction.
const MOST: usize = 5_000;
/// Maximum number of errors listed in one message.
const MOST_TOLD: usize = 10;

/// Import prices. A dry run reports the changes and all errors; other modes write nothing if there is an error.
#[utoipa::path(post, path = "/admin/api/v1/model-pricing/import", tag = "model-pricing", operation_id = "import", request_body = PriceImport,
    responses((status = 200, description = "What changed, or would", body = ImportResult), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:model-pricing:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<ModelPricing>>,
    Strict(body): Strict<PriceImport>,
) -> Result<Json<ImportResult>, Problem> {
    fits(&body)?;
    let _turn = app.naming.lock().await;
    let access = authorized.documents(&app);
    let (prices, errors) = read(body.prices, &Names::load(&access).await?);
    let mut plan = Plan::new(&stored(&access).await?, prices);
    match (body.mode, errors.as_slice()) {
        (Mode::DryRun, _) => {}
        (_, [first, ..]) => return Err(refusal(first, &errors).into()),
        (Mode::Merge, []) => plan.keep_all(),
        (Mode::Replace, []) => {}
    }
    if body.mode != Mode::DryRun {
        plan.carry_out(&access, authorized.principal.actor()).await?;
    }
    Ok(Json(ImportResult { mode: body.mode, difference: plan.difference(), errors }))
}

fn fits(body: &PriceImport) -> Result<(), Fault> {
    if body.version.is_some_and(|version| version != VERSION) {
        let message = format!("This is the version {VERSION} of the document; others cannot be read.");
        return Err(fault::invalid_parameter("version", message));
    }
    if body.prices.len() > MOST {
        let message = format!("At most {MOST} prices are imported at once.");
        return Err(fault::invalid_parameter("prices", message));
    }
    Ok(())
}

/// The prices that a tenant has set itself, by selector.
pub async fn stored(access: &TenantAccess<'_>) -> Result<BTreeMap<String, ModelPrice>, StoreError> {
    let all = access.collection::<ModelPrice>().all().await?;
    Ok(all.into_iter().map(|stored| (stored.value.selector.clone(), stored.value)).collect())
}

fn read(entries: Vec<Value>, names: &Names) -> (BTreeMap<String, ModelPrice>, Vec<ImportError>) {
    let (mut prices, mut errors) = (BTreeMap::new(), Vec::new());
    for (index, entry) in entries.into_iter().enumerate() {
        let selector = entry["selector"].as_str().map(str::to_owned);
        let known = selector.as_ref().is_some_and(|selector| prices.contains_key(selector));
        match read_one(entry, known, names) {
            Ok(price) => drop(prices.insert(price.selector.clone(), price)),
            Err(fault) => {
                let path = match &fault.param {
                    Some(param) => format!("prices[{index}].{param}"),
                    None => format!("prices[{index}]"),
                };
                let message = fault.message.clone();
                errors.push(ImportError { index, selector, message, fault: fault.param(path) });
            }
        }
    }
    (prices, errors)
}

fn read_one(entry: Value, known: bool, names: &Names) -> Result<ModelPrice, Fault> {
    let price: ModelPrice = body::read(entry)?;
    price.validate()?;
    if known {
        return Err(fault::invalid_parameter("selector", "It is in this document already."));
    }
    price.check(names)?;
    Ok(price)
}

/// Combines all errors into one fault: its parameter names the first error, its message lists the others.
fn refusal(first: &ImportError, errors: &[ImportError]) -> Fault {
    let listed: Vec<String> = errors
        .iter()
        .take(MOST_TOLD)
        .map(|error| format!("{}: {}", error.fault.param.as_deref().unwrap_or_default(), error.message))
        .collect();
    let further = match errors.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" And {more} more: a dry run tells them all."),
    };
    let message = format!("Nothing was written. {}{further}", listed.join(" "));
    first.fault.clone().with_message(message)
}

/// The changes that turn one set of prices into another.
pub struct Plan {
    puts: Vec<ModelPrice>,
    deletes: Vec<String>,
    difference: Difference,
}

impl Plan {
    pub fn new(from: &BTreeMap<String, ModelPrice>, to: BTreeMap<String, ModelPrice>) -> Self {
        let deletes: Vec<String> =
            from.keys().filter(|selector| !to.contains_key(*selector)).cloned().collect();
        let mut difference = Difference { deleted: deletes.len(), ..Difference::default() };
        let mut puts = Vec::new();
        for (selector, price) in to {
            let count = match from.get(&selector) {
                None => &mut difference.created,
                Some(known) if *known == price => &mut difference.unchanged,
                Some(_) => &mut difference.updated,
            };
            *count += 1;
            if from.get(&selector) != Some(&price) {
                puts.push(price);
            }
        }
        Self { puts, deletes, difference }
    }

    /// Removes all deletions from the plan.
    fn keep_all(&mut self) {
        self.deletes.clear();
        self.difference.deleted = 0;
    }

    pub fn difference(&self) -> Difference {
        self.difference
    }

    /// Applies the plan in one transaction; it is in the snapshot when this returns.
    pub async fn carry_out(&self, access: &TenantAccess<'_>, actor: &str) -> Result<(), StoreError> {
        if self.puts.is_empty() && self.deletes.is_empty() {
            return Ok(());
        }
        let prices = access.collection::<ModelPrice>();
        prices.put_and_delete(&self.puts, &self.deletes, actor).await?;
        access.app.refresher.refresh().await
    }
}
