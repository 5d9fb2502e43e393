//! Oracle Cloud.

use super::*;

pub(super) static VENDOR: Vendor =
    Vendor { name: "oracle", title: "Oracle Cloud", base_url_required: true, paths: CHAT, ..HOSTED };
