//! Forms of the API keys of further vendors, which are not part of the corpus.

/// Vendors and forms, as in `samples/api_keys.rs`.
pub const FORMS: &[(&str, &str)] = &[
    ("1Password", "ops_eyJ{u240}"),
    ("Adobe", "p8e-{a32}"),
    ("CircleCI", "CCIPAT_{u60}"),
    ("Clojars", "CLOJARS_{a60}"),
    ("Fly.io", "fo1_{u43}"),
    ("Flutterwave", "FLWSECK-{a32}"),
    ("Frame.io", "fio-u-{u64}"),
    ("JFrog", "AKCp{a69}"),
    ("Langfuse", "sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("Mapbox", "sk.eyJ{a60}.{u22}"),
    ("ReadMe", "rdme_{a70}"),
    ("Render", "rnd_{a28}"),
    ("Tencent Cloud", "AKID{a32}"),
    ("Together", "tgp_v1_{u43}"),
    ("Yandex Cloud", "AQVN{u36}"),
];
