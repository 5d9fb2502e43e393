//! Sentences without personal data that look as if they had some.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::random::{ALPHANUMERIC, HEXADECIMAL, Random, UPPER};
use super::values::{credit_card, iban, luhn_digit};

const SENTENCES: &[&str] = &[
    "The reference is {}, as agreed.",
    "See {} for details.",
    "{}",
    "Die Nummer {} steht auf der Rechnung.",
    "Le dossier {} est clos.",
    "El pedido {} fue enviado ayer.",
    "{\"id\": \"{}\", \"ok\": true}",
    "2024-05-01T10:22:03Z INFO processed {} in 12 ms",
    "- {}\n- {}\n",
    "- {}\n- {}\n",
    "Compare {} with {}.",
];

pub fn sentence(random: &mut Random) -> String {
    let mut text = random.pick(SENTENCES).to_owned();
    while let Some(place) = text.rfind("{}") {
        text.replace_range(place..place + 2, &item(random));
    }
    text
}

fn item(random: &mut Random) -> String {
    match random.below(7) {
        0 => order(random),
        1 => hash(random),
        2 => time(random),
        3 => product(random),
        4 => network(random),
        5 => near_miss(random),
        _ => code(random),
    }
}

fn order(random: &mut Random) -> String {
    match random.below(10) {
        0 => format!("order {}", random.digits(10)),
        1 => format!("ORD-2024-{}", random.digits(6)),
        2 => format!("invoice {}", random.digits(12)),
        3 => format!("INV-{}-{}-{}", random.digits(3), random.digits(2), random.digits(4)),
        4 => format!("1Z{}{}", random.text(UPPER, 6), random.digits(10)),
        5 => format!("tracking 94{}", random.digits(20)),
        6 => format!("ticket #{}", random.digits(7)),
        7 => format!("customer number {}-{}", random.digits(4), random.digits(4)),
        8 => format!("PO{}/{}", random.digits(6), random.digits(3)),
        _ => format!("shipment {}", random.digits(16)),
    }
}

fn hash(random: &mut Random) -> String {
    let hexadecimal = |random: &mut Random, length: usize| random.text(HEXADECIMAL, length);
    match random.below(7) {
        0 => format!(
            "{}-{}-4{}-a{}-{}",
            hexadecimal(random, 8),
            hexadecimal(random, 4),
            hexadecimal(random, 3),
            hexadecimal(random, 3),
            hexadecimal(random, 12)
        ),
        1 => format!("md5 {}", hexadecimal(random, 32)),
        2 => format!("commit {}", hexadecimal(random, 40)),
        3 => format!("sha256:{}", hexadecimal(random, 64)),
        4 => format!("etag \"{}\"", hexadecimal(random, 16)),
        5 => {
            let length = random.between(20, 60);
            format!("data:image/png;base64,{}", STANDARD.encode(random.bytes(length)))
        }
        _ => {
            let bytes: Vec<String> = (0..20).map(|_| hexadecimal(random, 2)).collect();
            format!("fingerprint {}", bytes.join(":"))
        }
    }
}

fn time(random: &mut Random) -> String {
    match random.below(8) {
        0 => format!("17{}", random.digits(8)),
        1 => format!("17{}", random.digits(11)),
        2 => format!("17{}", random.digits(17)),
        3 => format!(
            "2024-{:02}-{:02}T{:02}:{:02}:{:02}.123Z",
            random.between(1, 12),
            random.between(1, 28),
            random.below(24),
            random.below(60),
            random.below(60)
        ),
        4 => format!(
            "{:02}.{:02}.2024 um {:02}:{:02} Uhr",
            random.between(1, 28),
            random.between(1, 12),
            random.below(24),
            random.below(60)
        ),
        5 => format!("March {}, 2024", random.between(1, 28)),
        6 => format!("2010-2020 and {}:{:02}", random.between(1, 12), random.below(60)),
        _ => format!("due on {:02}/{:02}/2025", random.between(1, 12), random.between(1, 28)),
    }
}

fn product(random: &mut Random) -> String {
    match random.below(10) {
        0 => {
            let digits = random.digits(9);
            format!("ISBN 978-{}-{}-{}-{}", &digits[..1], &digits[1..4], &digits[4..9], random.below(10))
        }
        1 => format!("ISBN {}", random.digits(10)),
        2 => format!("EAN 40{}", random.digits(11)),
        3 => format!("SKU {}{}", random.text("ABCDEFGH", 2), random.digits(6)),
        4 => format!("part {}-{}", random.digits(5), random.text(UPPER, 4)),
        5 => {
            let body = format!("35{}", random.digits(12));
            format!("IMEI {body}{}", luhn_digit(&body))
        }
        6 => format!("VIN WVWZZZ1JZ{}", random.text(UPPER, 8)),
        7 => format!("batch {}{}", random.digits(8), random.text("ABCDEFGHJKLMNP", 1)),
        8 => format!("{}.{} EUR for {} pieces", random.between(1, 999), random.digits(2), random.digits(3)),
        _ => format!("serial {}", random.text(UPPER, 12)),
    }
}

fn network(random: &mut Random) -> String {
    match random.below(11) {
        0 => format!("version {}.{}.{}", random.below(20), random.below(100), random.below(1000)),
        1 => format!(
            "firmware version {}.{}.{}.{}",
            random.below(20),
            random.below(20),
            random.below(20),
            random.below(20)
        ),
        2 => format!("v{}.{}.{}.{}", random.below(20), random.below(20), random.below(20), random.below(20)),
        3 => "http://127.0.0.1:8080/health".to_owned(),
        4 => format!("https://example.com/users/{}?page=2", random.digits(6)),
        5 => format!("arn:aws:iam::{}:role/Deploy", random.digits(12)),
        6 => "postgres://localhost:5432/app".to_owned(),
        7 => "redis://cache.internal:6379/0".to_owned(),
        8 => format!("git@github.com:acme/{}.git", random.text("abcdefgh", 6)),
        9 => format!(
            "{}.{}, {}.{}",
            random.between(1, 90),
            random.digits(6),
            random.between(1, 179),
            random.digits(6)
        ),
        _ => format!("port {} on 0.0.0.0", random.between(1024, 65535)),
    }
}

fn code(random: &mut Random) -> String {
    match random.below(14) {
        0 => "std::vector<std::string> names = a::b::c();".to_owned(),
        1 => format!("npm install left-pad@{}.{}.{}", random.below(9), random.below(20), random.below(20)),
        2 => format!("<img src=\"logo@2x.png\" width=\"{}\">", random.between(10, 999)),
        3 => "@property\ndef name(self): return self._name".to_owned(),
        4 => format!("token_count = {}", random.digits(8)),
        5 => "api_key = os.environ['API_KEY']".to_owned(),
        6 => "password: ********".to_owned(),
        7 => "export OPENAI_API_KEY=sk-your-key-here".to_owned(),
        8 => format!("color: #{};", random.text(HEXADECIMAL, 6)),
        9 => format!("let id = 0x{};", random.text(HEXADECIMAL, 8)),
        10 => "host = localhost\nport = 5432\nuser = app".to_owned(),
        11 => format!("const MAX: u64 = {};", random.digits(18)),
        12 => {
            format!("kubectl get pod web-{}-{}", random.text(HEXADECIMAL, 10), random.text("abcdefgh2345", 5))
        }
        _ => format!("session {} started", random.text(ALPHANUMERIC, 22)),
    }
}

/// Values with a wrong checksum, of a range that is not assigned, or of a public kind.
fn near_miss(random: &mut Random) -> String {
    match random.below(9) {
        0 => {
            let card = credit_card(random);
            let last = card.chars().last().and_then(|digit| digit.to_digit(10)).unwrap();
            format!("{}{}", &card[..card.len() - 1], (last + 1) % 10)
        }
        1 => {
            let iban = iban(random);
            let check: u32 = iban[2..4].parse().unwrap();
            format!("{}{:02}{}", &iban[..2], (check + 1) % 100, &iban[4..])
        }
        2 => format!("{}-{}-{}", random.pick(&["000", "666"]), random.digits(2), random.digits(4)),
        3 => format!("transaction 0x{}", random.text(HEXADECIMAL, 64)),
        4 => format!("1{}", random.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 33)),
        5 => {
            let bytes = random.bytes(48);
            format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", STANDARD.encode(bytes))
        }
        6 => format!("user{}@localhost", random.digits(2)),
        7 => {
            let bytes: Vec<String> = (0..5).map(|_| random.text(HEXADECIMAL, 2)).collect();
            bytes.join(":")
        }
        _ => STANDARD.encode(format!("{{\"page\":{},\"next\":true}}", random.digits(4))),
    }
}
