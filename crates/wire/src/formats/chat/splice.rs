//! Builds the upstream request from the client's body and the necessary edits.

use std::ops::Range;

use bytes::Bytes;

use crate::codec::{Request, Target, number};
use crate::json;
use crate::splice::Patch;
use crate::vendors::{StreamUsage, Vendor};

/// The upstream body as a chain of slices; nothing the client wrote is re-serialised.
pub fn splice(request: &Request, target: &Target<'_>) -> Vec<Bytes> {
    let mut edits = Edits { request, vendor: target.vendor, patch: Patch::new() };
    edits.set(request.places.model, "model", json::quote(target.model));
    if request.provider_hint.is_some() {
        edits.remove(request.places.provider);
    }
    if target.stream {
        if request.stream != Some(true) {
            edits.set(request.places.stream, "stream", "true");
        }
        edits.ask_for_usage();
    }
    edits.ask_for_cost();
    edits.output_limit(target.model);
    edits.temperature();
    edits.roles();
    for name in target.vendor.quirks.dropped {
        edits.remove(request.object.position(&request.body, name));
    }
    edits.patch.apply(&request.body)
}

struct Edits<'a> {
    request: &'a Request,
    vendor: &'a Vendor,
    patch: Patch,
}

impl Edits<'_> {
    fn set(&mut self, place: Option<usize>, name: &str, value: impl AsRef<str>) {
        let object = &self.request.object;
        let value = value.as_ref();
        match place {
            Some(index) => self.patch.replace(object.members[index].value.clone(), value.to_owned()),
            None => self.patch.insert_member(object, format!("\"{name}\":{value}")),
        }
    }

    fn remove(&mut self, place: Option<usize>) {
        if let Some(index) = place {
            self.patch.remove_member(&self.request.object, index);
        }
    }

    /// Requests the usage chunk for accounting, whether or not the client wants it.
    fn ask_for_usage(&mut self) {
        let request = self.request;
        match self.vendor.quirks.stream_usage {
            StreamUsage::Option if !request.include_usage => self.force_include_usage(),
            StreamUsage::Never => self.remove(request.places.stream_options),
            StreamUsage::Option | StreamUsage::Always => {}
        }
    }

    fn ask_for_cost(&mut self) {
        let request = self.request;
        let converses = request.places.messages.is_some();
        if converses
            && self.vendor.quirks.usage_member
            && request.object.position(&request.body, "usage").is_none()
        {
            self.patch.insert_member(&request.object, Bytes::from_static(b"\"usage\":{\"include\":true}"));
        }
    }

    fn force_include_usage(&mut self) {
        let request = self.request;
        let place = request.places.stream_options;
        let written = place.map(|index| request.object.members[index].value.clone());
        let Some(Ok(options)) = written.map(|value| json::scan_within(&request.body, value)) else {
            return self.set(place, "stream_options", r#"{"include_usage":true}"#);
        };
        match options.get(&request.body, "include_usage") {
            Some(member) => self.patch.replace(member.value.clone(), Bytes::from_static(b"true")),
            None => self.patch.insert_member(&options, Bytes::from_static(b"\"include_usage\":true")),
        }
    }

    fn output_limit(&mut self, model: &str) {
        let (old, new) = (self.request.places.max_tokens, self.request.places.max_completion_tokens);
        let quirks = &self.vendor.quirks;
        let (from, to, name) = if (quirks.completion_tokens_rename)(model) {
            (old, new, "max_completion_tokens")
        } else if quirks.max_tokens_only {
            (new, old, "max_tokens")
        } else {
            return;
        };
        let Some(index) = from else { return };
        if to.is_some() {
            return self.remove(from);
        }
        self.patch
            .replace(self.request.object.members[index].key.clone(), Bytes::from_static(name.as_bytes()));
    }

    fn temperature(&mut self) {
        let Some(index) = self.request.places.temperature else { return };
        let value = self.request.object.members[index].value.clone();
        let zero = number(&self.request.body[value.clone()]) == Some(0.0);
        if zero && self.vendor.quirks.min_temperature_above_zero {
            self.patch.replace(value, Bytes::from_static(b"0.01"));
        }
    }

    /// Replaces the role `developer` by `system` for providers that do not have it.
    fn roles(&mut self) {
        let body = &self.request.body;
        let Some(index) = self.request.places.messages.filter(|_| !self.vendor.quirks.developer_role) else {
            return;
        };
        let messages = self.request.object.members[index].value.clone();
        if memchr::memmem::find(&body[messages.clone()], b"\"developer\"").is_none() {
            return;
        }
        let mut roles = Vec::new();
        let collected = json::visit_array(body, messages.clone(), |message| {
            if let Some(role) = developer_role(body, message) {
                roles.push(role);
            }
        });
        if collected.is_err() {
            return;
        }
        // Each edit adds a slice to the outgoing chain; beyond a few, copying the messages once is cheaper.
        if roles.len() <= MOST_ROLE_EDITS {
            roles.into_iter().for_each(|role| self.patch.replace(role, Bytes::from_static(b"\"system\"")));
            return;
        }
        let (mut text, mut copied) = (Vec::with_capacity(messages.len()), messages.start);
        for role in roles {
            text.extend_from_slice(&body[copied..role.start]);
            text.extend_from_slice(b"\"system\"");
            copied = role.end;
        }
        text.extend_from_slice(&body[copied..messages.end]);
        self.patch.replace(messages, Bytes::from(text));
    }
}

const MOST_ROLE_EDITS: usize = 64;

/// Position of the message's role if it is `developer`.
fn developer_role(body: &[u8], message: Range<usize>) -> Option<Range<usize>> {
    let message = json::scan_within(body, message).ok()?;
    let role = message.get(body, "role")?.value.clone();
    (&body[role.clone()] == b"\"developer\"").then_some(role)
}
