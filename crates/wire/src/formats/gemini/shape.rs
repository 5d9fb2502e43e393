//! The shape of a request in this format, and its output limit.

use crate::codec::Request;
use crate::codec::shape::{GENERATION_CONFIGS, OUTPUT_LIMITS_IN_CONFIG, RequestShape};
use crate::json::{self, Object};
use crate::splice::Patch;

pub fn shape(request: &Request) -> RequestShape<'_> {
    RequestShape::of(request)
}

/// Sets the limit in the generation settings, under every spelling that the request uses.
pub fn limit_output(request: &Request, limit: u64) -> Patch {
    let (body, object) = (&request.body, &request.object);
    let mut patch = Patch::new();
    let own = format!("\"{}\":{limit}", OUTPUT_LIMITS_IN_CONFIG[0]);
    let configs = configs(body, object);
    let named = || {
        let names = |config| OUTPUT_LIMITS_IN_CONFIG.iter().map(move |name| (config, name));
        configs.iter().flat_map(names)
    };
    let mut given = named().filter_map(|(config, name)| config.value(body, name)).peekable();
    if given.peek().is_some() {
        given.for_each(|value| patch.replace(value, limit.to_string()));
    } else if let Some(null) = named().find_map(|(config, name): (&Object, _)| config.get(body, name)) {
        patch.replace(null.value.clone(), limit.to_string());
    } else if let Some(config) = configs.first() {
        patch.insert_member(config, own);
    } else if let Some(null) = GENERATION_CONFIGS.iter().find_map(|name| object.get(body, name)) {
        patch.replace(null.value.clone(), format!("{{{own}}}"));
    } else {
        patch.insert_member(object, format!("\"{}\":{{{own}}}", GENERATION_CONFIGS[0]));
    }
    patch
}

/// The generation settings under either spelling.
fn configs(body: &[u8], object: &Object) -> Vec<Object> {
    let values = GENERATION_CONFIGS.iter().filter_map(|name| object.value(body, name));
    values.filter_map(|value| json::scan_within(body, value).ok()).collect()
}
