//! Random values of each kind, with correct checksums.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use guardrails::kind::PiiKind;
use sha3::{Digest as _, Keccak256};

use super::random::{ALPHANUMERIC, HEXADECIMAL, Random, UPPER};
use super::{api_keys, national};

/// A value, and the words that have to stand before it.
pub struct Value {
    pub text: String,
    pub words: &'static [&'static str],
}

impl Value {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), words: &[] }
    }

    pub fn with_words(text: impl Into<String>, words: &'static [&'static str]) -> Self {
        Self { text: text.into(), words }
    }
}

pub fn value(kind: PiiKind, random: &mut Random) -> Value {
    match kind {
        PiiKind::Email => Value::new(email(random)),
        PiiKind::Phone => phone(random),
        PiiKind::Ssn => ssn(random),
        PiiKind::CreditCard => Value::new(credit_card(random)),
        PiiKind::Iban => Value::new(iban(random)),
        PiiKind::IpAddress => Value::new(ip_address(random)),
        PiiKind::MacAddress => Value::new(mac_address(random)),
        PiiKind::CryptoAddress => Value::new(crypto_address(random)),
        PiiKind::NationalId => national::value(random),
        PiiKind::DateOfBirth => Value::with_words(date_of_birth(random), BIRTH_WORDS),
        PiiKind::ApiKey => api_key(random),
        PiiKind::PrivateKey => Value::new(private_key(random)),
        PiiKind::Jwt => Value::new(jwt(random)),
        PiiKind::ConnectionString => Value::new(connection_string(random)),
    }
}

const BIRTH_WORDS: &[&str] = &[
    "born on ",
    "DOB: ",
    "date of birth ",
    "geboren am ",
    "née le ",
    "nacido el ",
    "Geburtsdatum: ",
    "data de nascimento: ",
];

fn email(random: &mut Random) -> String {
    let first = random.pick(&[
        "anna",
        "j.smith",
        "maria.lopez",
        "info",
        "k-mueller",
        "o'brien",
        "li_wei",
        "søren",
        "x9",
        "Sales.Team",
    ]);
    let tag = if random.chance(15) { format!("+{}", random.digits(2)) } else { String::new() };
    let number = if random.chance(30) { random.digits(2) } else { String::new() };
    let host = random.pick(&[
        "example",
        "mail.example",
        "uni-bonn",
        "bücher",
        "acme-corp",
        "x1",
        "gov.example",
        "my.sub.domain",
    ]);
    let top = random.pick(&["com", "org", "de", "co.uk", "io", "museum", "com.br", "dev", "xn--p1ai"]);
    format!("{first}{number}{tag}@{host}.{top}")
}

fn phone(random: &mut Random) -> Value {
    const WORDS: &[&str] =
        &["phone ", "Tel.: ", "call me at ", "mobile: ", "Handy: ", "téléphone : ", "WhatsApp "];
    let area = random.pick(&["212", "415", "303", "617", "809"]);
    let exchange = format!("{}{}", random.between(2, 9), random.pick(&["34", "55", "78", "20"]));
    let line = random.digits(4);
    match random.below(8) {
        0 => Value::new(format!("+1 {area}-{exchange}-{line}")),
        1 => Value::new(format!("({area}) {exchange}-{line}")),
        2 => Value::new(format!("{area}-{exchange}-{line}")),
        3 => Value::new(format!("+49 {} {}", random.pick(&["30", "89", "171", "221"]), random.digits(7))),
        4 => Value::new(format!(
            "+33 6 {} {} {} {}",
            random.digits(2),
            random.digits(2),
            random.digits(2),
            random.digits(2)
        )),
        5 => Value::new(format!(
            "+{}{}",
            random.pick(&["4479", "34612", "39333", "551198", "8190", "9198"]),
            random.digits(7)
        )),
        6 => Value::with_words(format!("0{} {}", random.pick(&["30", "171", "89"]), random.digits(7)), WORDS),
        _ => Value::with_words(
            format!(
                "0{} {} {} {} {}",
                random.between(1, 9),
                random.digits(2),
                random.digits(2),
                random.digits(2),
                random.digits(2)
            ),
            WORDS,
        ),
    }
}

fn ssn(random: &mut Random) -> Value {
    let area = loop {
        let area = random.between(1, 899);
        if area != 666 {
            break area;
        }
    };
    let (group, serial) = (random.between(1, 99), random.between(1, 9999));
    match random.below(4) {
        0 => Value::with_words(
            format!("{area:03}{group:02}{serial:04}"),
            &["SSN ", "social security number: ", "my ssn is "],
        ),
        1 => Value::with_words(format!("{area:03} {group:02} {serial:04}"), &["SSN: ", "Social Security "]),
        _ => Value::new(format!("{area:03}-{group:02}-{serial:04}")),
    }
}

pub fn luhn_digit(body: &str) -> char {
    let sum: u32 = body
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| {
            let digit = u32::from(byte - b'0');
            if place % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
        })
        .sum();
    char::from(b'0' + ((10 - sum % 10) % 10) as u8)
}

pub fn credit_card(random: &mut Random) -> String {
    let (prefix, length) = random.pick::<(&str, usize)>(&[
        &("4", 16),
        &("4", 16),
        &("51", 16),
        &("55", 16),
        &("2221", 16),
        &("34", 15),
        &("37", 15),
        &("6011", 16),
        &("3530", 16),
        &("36", 14),
        &("62", 16),
    ]);
    let body = format!("{prefix}{}", random.digits(length - 1 - prefix.len()));
    let number = format!("{body}{}", luhn_digit(&body));
    let groups: &[usize] = if *length == 16 { &[4, 4, 4, 4] } else { &[4, 6, 5] };
    match random.below(3) {
        0 => number,
        1 => grouped(&number, groups, " "),
        _ => grouped(&number, groups, "-"),
    }
}

pub fn grouped(text: &str, lengths: &[usize], separator: &str) -> String {
    let mut groups = Vec::new();
    let mut rest = text;
    for length in lengths {
        let (group, after) = rest.split_at((*length).min(rest.len()));
        groups.push(group);
        rest = after;
    }
    groups.retain(|group| !group.is_empty());
    groups.join(separator) + rest
}

pub fn iban(random: &mut Random) -> String {
    let (country, form) = random.pick::<(&str, &str)>(&[
        &("DE", "000000000000000000"),
        &("FR", "0000000000AAAAAAAAAAA00"),
        &("GB", "LLLL00000000000000"),
        &("NL", "LLLL0000000000"),
        &("ES", "00000000000000000000"),
        &("IT", "L0000000000AAAAAAAAAAAA"),
        &("CH", "00000AAAAAAAAAAAA"),
        &("PL", "000000000000000000000000"),
        &("BE", "000000000000"),
        &("AT", "0000000000000000"),
        &("SE", "00000000000000000000"),
        &("NO", "00000000000"),
    ]);
    let body: String = form
        .chars()
        .map(|part| match part {
            '0' => random.text("0123456789", 1),
            'L' => random.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1),
            _ => random.text(UPPER, 1),
        })
        .collect();
    let check = 98 - remainder_97(&format!("{body}{country}00"));
    let number = format!("{country}{check:02}{body}");
    if random.chance(50) { grouped(&number, &[4; 9], " ") } else { number }
}

fn remainder_97(text: &str) -> u32 {
    text.chars()
        .filter_map(|character| character.to_digit(36))
        .fold(0, |rest, value| if value < 10 { (rest * 10 + value) % 97 } else { (rest * 100 + value) % 97 })
}

fn ip_address(random: &mut Random) -> String {
    let byte = |random: &mut Random| random.between(1, 254);
    match random.below(4) {
        0 => {
            let groups: Vec<String> = (0..8).map(|_| random.text(HEXADECIMAL, 4)).collect();
            groups.join(":")
        }
        1 => format!("2001:db8:{}::{}", random.text("123456789", 3), random.text("123456789", 2)),
        _ => {
            let first = random.pick(&["10", "192", "172", "8", "203", "81", "145"]);
            format!("{first}.{}.{}.{}", byte(random), byte(random), byte(random))
        }
    }
}

fn mac_address(random: &mut Random) -> String {
    let bytes: Vec<String> = (0..6).map(|_| random.text(HEXADECIMAL, 2)).collect();
    match random.below(4) {
        0 => format!("{}-a{}", bytes[..5].join("-"), &bytes[5][..1]),
        1 => format!("{}{}.{}{}.{}{}", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]),
        2 => bytes.join(":").to_uppercase(),
        _ => bytes.join(":"),
    }
}

fn crypto_address(random: &mut Random) -> String {
    match random.below(5) {
        0 => bs58::encode([vec![0x00], random.bytes(20)].concat()).with_check().into_string(),
        1 => bs58::encode([vec![0x05], random.bytes(20)].concat()).with_check().into_string(),
        2 => bech32::segwit::encode(bech32::hrp::BC, bech32::segwit::VERSION_0, &random.bytes(20)).unwrap(),
        3 => format!("0x{}", random.text(HEXADECIMAL, 40)),
        _ => {
            let lower = random.text(HEXADECIMAL, 40);
            let hash = Keccak256::digest(&lower);
            let letter = |(place, character): (usize, char)| {
                let digit = (hash[place / 2] >> (4 * (1 - place % 2))) & 0xF;
                if digit >= 8 { character.to_ascii_uppercase() } else { character }
            };
            format!("0x{}", lower.chars().enumerate().map(letter).collect::<String>())
        }
    }
}

fn date_of_birth(random: &mut Random) -> String {
    let (year, month, day) = (random.between(1930, 2012), random.between(1, 12), random.between(1, 28));
    let name = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ][month - 1];
    match random.below(6) {
        0 => format!("{year}-{month:02}-{day:02}"),
        1 => format!("{month:02}/{day:02}/{year}"),
        2 => format!("{day:02}.{month:02}.{year}"),
        3 => format!("{day} {name} {year}"),
        4 => format!("{name} {day}, {year}"),
        _ => format!("{day:02}/{month:02}/{:02}", year % 100),
    }
}

fn api_key(random: &mut Random) -> Value {
    const WORDS: &[&str] = &[
        "api_key=",
        "API key: ",
        "\"client_secret\": \"",
        "token = '",
        "Authorization: Bearer ",
        "secret: ",
    ];
    if random.chance(25) {
        let (alphabet, length) =
            if random.chance(50) { (HEXADECIMAL, 32) } else { (ALPHANUMERIC, random.between(24, 48)) };
        return Value::with_words(format!("{}7b", random.text(alphabet, length - 2)), WORDS);
    }
    let (_, form) = api_keys::FORMS[random.below(api_keys::FORMS.len())];
    Value::new(api_keys::fill(form, random))
}

fn private_key(random: &mut Random) -> String {
    let name = random.pick(&["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA "]);
    let length = random.between(120, 800);
    let body = STANDARD.encode(random.bytes(length));
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    let end = if random.chance(80) { format!("\n-----END {name}PRIVATE KEY-----") } else { String::new() };
    format!("-----BEGIN {name}PRIVATE KEY-----\n{}{end}", lines.join("\n"))
}

fn jwt(random: &mut Random) -> String {
    let algorithm = random.pick(&["HS256", "RS256", "ES384", "EdDSA"]);
    let header = if random.chance(50) {
        format!(r#"{{"alg":"{algorithm}","typ":"JWT"}}"#)
    } else {
        format!(r#"{{"typ":"JWT","alg":"{algorithm}","kid":"{}"}}"#, random.text(HEXADECIMAL, 8))
    };
    let payload = format!(
        r#"{{"sub":"{}","iat":{}}}"#,
        random.digits(10),
        random.between(1_600_000_000, 1_800_000_000)
    );
    let signature = random.bytes(32);
    format!(
        "{}.{}.{}",
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(payload),
        URL_SAFE_NO_PAD.encode(signature)
    )
}

fn connection_string(random: &mut Random) -> String {
    let user = random.pick(&["admin", "app_user", "root", "svc-billing"]);
    let password = random.text(ALPHANUMERIC, 12);
    let host = random.pick(&["db.example.com", "10.1.2.3", "cluster0.abc12.mongodb.net", "localhost"]);
    match random.below(7) {
        0 => format!("postgresql://{user}:{password}@{host}:5432/app?sslmode=require"),
        1 => format!("mysql://{user}:{password}@{host}/shop"),
        2 => format!("mongodb+srv://{user}:{password}@{host}/test"),
        3 => format!("redis://:{password}@{host}:6379/0"),
        4 => format!("Server=tcp:{host},1433;Database=app;User Id={user};Password={password};Encrypt=true"),
        5 => format!("host={host} port=5432 dbname=app user={user} password={password}"),
        _ => format!("amqps://{user}:{password}@{host}/vhost"),
    }
}
