//! Forms of the API keys of vendors, as they publish them or as their keys look.

use super::random::{ALPHANUMERIC, HEXADECIMAL, Random, UPPER};

/// Vendors and forms. `{h32}` stands for 32 hexadecimal digits, `{d…}` for digits, `{l…}` for lower case and digits,
/// `{U…}` for upper case and digits, `{a…}` for letters and digits, `{u…}` for base64url.
pub const FORMS: &[(&str, &str)] = &[
    ("Adafruit", "aio_{a28}"),
    ("age", "AGE-SECRET-KEY-1{U58}"),
    ("Alibaba Cloud", "LTAI{a20}"),
    ("Anthropic", "sk-ant-api03-{u95}"),
    ("Atlassian", "ATATT3{u186}"),
    ("AWS", "AKIA{U16}"),
    ("AWS", "ASIA{U16}"),
    ("Brevo", "xkeysib-{h64}-{a16}"),
    ("Buildkite", "bkua_{h40}"),
    ("Cerebras", "csk-{l48}"),
    ("Contentful", "CFPAT-{u43}"),
    ("crates.io", "cio{a32}"),
    ("Databricks", "dapi{h32}"),
    ("DigitalOcean", "dop_v1_{h64}"),
    ("Docker", "dckr_pat_{u27}"),
    ("Doppler", "dp.pt.{a43}"),
    ("Duffel", "duffel_live_{u43}"),
    ("Dynatrace", "dt0c01.{U24}.{U64}"),
    ("EasyPost", "EZAK{a54}"),
    ("Figma", "figd_{u40}"),
    ("Fireworks", "fw_{a24}"),
    ("Gatehouse", "gk_{u49}"),
    ("GitHub", "ghp_{a36}"),
    ("GitHub", "github_pat_{a22}_{a59}"),
    ("GitLab", "glpat-{u20}"),
    ("Google", "AIza{u35}"),
    ("Google", "GOCSPX-{u28}"),
    ("Grafana", "glsa_{a32}_{h8}"),
    ("Groq", "gsk_{a52}"),
    ("HashiCorp Vault", "hvs.{u95}"),
    ("Heroku", "HRKU-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("HubSpot", "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("Hugging Face", "hf_{a34}"),
    ("Jina", "jina_{a60}"),
    ("LangSmith", "lsv2_pt_{h32}_{h10}"),
    ("Linear", "lin_api_{a40}"),
    ("Mailgun", "key-{h32}"),
    ("Netlify", "nfp_{a36}"),
    ("New Relic", "NRAK-{U27}"),
    ("Notion", "ntn_{a46}"),
    ("npm", "npm_{a36}"),
    ("NuGet", "oy2{l43}"),
    ("NVIDIA", "nvapi-{u64}"),
    ("OpenAI", "sk-proj-{u124}"),
    ("OpenAI", "sk-{a48}"),
    ("OpenRouter", "sk-or-v1-{h64}"),
    ("Perplexity", "pplx-{a48}"),
    ("Pinecone", "pcsk_{a6}_{a63}"),
    ("Plaid", "access-production-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("PlanetScale", "pscale_tkn_{u43}"),
    ("Postman", "PMAK-{h24}-{h34}"),
    ("Prefect", "pnu_{a36}"),
    ("Pulumi", "pul-{h40}"),
    ("PyPI", "pypi-AgEIcHlwaS5vcmc{u120}"),
    ("Razorpay", "rzp_live_{a14}"),
    ("Replicate", "r8_{a37}"),
    ("RubyGems", "rubygems_{h48}"),
    ("SendGrid", "SG.{u22}.{u43}"),
    ("Sentry", "sntryu_{h64}"),
    ("Shippo", "shippo_live_{h40}"),
    ("Shopify", "shpat_{h32}"),
    ("Slack", "xoxb-{d12}-{d13}-{a24}"),
    ("SonarQube", "squ_{h40}"),
    ("Square", "sq0atp-{u22}"),
    ("Stripe", "sk_live_{a24}"),
    ("Supabase", "sbp_{h40}"),
    ("Tavily", "tvly-{a32}"),
    ("Twilio", "SK{h32}"),
    ("Typeform", "tfp_{u44}"),
    ("xAI", "xai-{a80}"),
];

/// A random key of a form.
pub fn fill(form: &str, random: &mut Random) -> String {
    let mut parts = form.split(['{', '}']);
    let mut key = parts.next().unwrap().to_owned();
    while let (Some(hole), Some(text)) = (parts.next(), parts.next()) {
        let length: usize = hole[1..].parse().unwrap();
        key += &match &hole[..1] {
            "h" => random.text(HEXADECIMAL, length),
            "d" => random.digits(length),
            "l" => random.text("abcdefghijklmnopqrstuvwxyz0123456789", length),
            "U" => random.text(UPPER, length),
            "a" => random.text(ALPHANUMERIC, length),
            // The last character is none that may also be punctuation behind the key.
            _ => random.text(&format!("{ALPHANUMERIC}_-"), length - 1) + &random.text(ALPHANUMERIC, 1),
        };
        key += text;
    }
    key
}
