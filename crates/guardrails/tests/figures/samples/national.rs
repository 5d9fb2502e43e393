//! Random identity numbers of countries, with check digits computed here and not by the rules under test.

use super::random::Random;
use super::values::{Value, grouped, luhn_digit};

/// Makes a random number of one country.
type Maker = fn(&mut Random) -> Value;

pub const COUNTRIES: [(&str, Maker); 24] = [
    ("BR", brazil),
    ("DE", germany),
    ("FR", france),
    ("ES", spain),
    ("IT", italy),
    ("NL", netherlands),
    ("PL", poland),
    ("SE", sweden),
    ("FI", finland),
    ("BE", belgium),
    ("IN", india),
    ("GB", britain),
    ("CH", switzerland),
    ("KR", korea),
    ("CN", china),
    ("NO", norway),
    ("CZ", czechia),
    ("ZA", south_africa),
    ("CL", chile),
    ("CA", canada),
    ("SG", singapore),
    ("TR", turkey),
    ("AR", argentina),
    ("EE", estonia),
];

pub fn value(random: &mut Random) -> Value {
    let (_, make) = COUNTRIES[random.below(COUNTRIES.len())];
    make(random)
}

fn numbers(text: &str) -> Vec<u32> {
    text.chars().filter_map(|character| character.to_digit(10)).collect()
}

fn weighted(text: &str, weights: &[u32]) -> u32 {
    numbers(text).iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// A date of birth as year of two digits, month and day.
fn birth(random: &mut Random) -> (usize, usize, usize) {
    (random.between(40, 99), random.between(1, 12), random.between(1, 28))
}

fn brazil(random: &mut Random) -> Value {
    let body = random.digits(9);
    let check =
        |text: &str, first: u32| (weighted(text, &(2..=first).rev().collect::<Vec<_>>()) * 10 % 11) % 10;
    let first = format!("{body}{}", check(&body, 10));
    let whole = format!("{first}{}", check(&first, 11));
    if random.chance(60) {
        let formatted = format!("{}.{}.{}-{}", &whole[..3], &whole[3..6], &whole[6..9], &whole[9..]);
        return Value::new(formatted);
    }
    Value::with_words(whole, &["CPF ", "meu cpf: "])
}

fn germany(random: &mut Random) -> Value {
    // Nine different digits, one of them twice.
    let mut digits: Vec<char> = "1234567890".chars().collect();
    for place in (1..10).rev() {
        digits.swap(place, random.below(place + 1));
    }
    digits[9] = digits[random.between(0, 8)];
    if digits[0] == '0' {
        let other = digits.iter().position(|digit| *digit != '0').unwrap();
        digits.swap(0, other);
    }
    let body: String = digits.into_iter().collect();
    let product = numbers(&body).into_iter().fold(10, |product, digit| match (product + digit) % 10 {
        0 => 20 % 11,
        sum => sum * 2 % 11,
    });
    let whole = format!("{body}{}", (11 - product) % 10);
    let whole = if random.chance(40) { grouped(&whole, &[2, 3, 3, 3], " ") } else { whole };
    Value::with_words(whole, &["Steuer-ID ", "Steueridentifikationsnummer: ", "tax ID ", "IdNr. "])
}

fn france(random: &mut Random) -> Value {
    let (year, month, _) = birth(random);
    let body = format!(
        "{}{year:02}{month:02}{:02}{}{}",
        random.between(1, 2),
        random.between(1, 95),
        random.digits(3),
        random.digits(3)
    );
    let whole = format!("{body}{:02}", 97 - number(&body) % 97);
    Value::new(if random.chance(50) { grouped(&whole, &[1, 2, 2, 2, 3, 3, 2], " ") } else { whole })
}

const SPANISH: &str = "TRWAGMYFPDXBNJZSQVHLCKE";

fn spain(random: &mut Random) -> Value {
    let letter = |number: u64| &SPANISH[(number % 23) as usize..=(number % 23) as usize];
    if random.chance(50) {
        let body = random.digits(8);
        return Value::with_words(format!("{body}{}", letter(number(&body))), &["DNI ", "mi DNI es "]);
    }
    let (first, body) = (random.below(3), random.digits(7));
    let letter = letter(number(&format!("{first}{body}")));
    Value::new(format!("{}{body}{letter}", ["X", "Y", "Z"][first]))
}

fn italy(random: &mut Random) -> Value {
    let consonants = "BCDFGLMNPRSTVZ";
    let body = format!(
        "{}{}{}{:02}{}{}",
        random.text(consonants, 6),
        random.digits(2),
        random.text("ABCDEHLMPRST", 1),
        random.between(1, 31),
        random.text("ABCDEFGHIL", 1),
        random.digits(3),
    );
    const ODD_DIGITS: [u32; 10] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21];
    const ODD_LETTERS: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let sum: u32 = body
        .bytes()
        .enumerate()
        .map(|(place, byte)| match (place % 2 == 0, byte.is_ascii_digit()) {
            (true, true) => ODD_DIGITS[usize::from(byte - b'0')],
            (true, false) => ODD_LETTERS[usize::from(byte - b'A')],
            (false, true) => u32::from(byte - b'0'),
            (false, false) => u32::from(byte - b'A'),
        })
        .sum();
    Value::new(format!("{body}{}", char::from(b'A' + (sum % 26) as u8)))
}

fn netherlands(random: &mut Random) -> Value {
    let whole = loop {
        let body = random.digits(8);
        let check = weighted(&body, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
        if check < 10 {
            break format!("{body}{check}");
        }
    };
    Value::with_words(whole, &["BSN ", "burgerservicenummer: "])
}

fn poland(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let body = format!("{year:02}{month:02}{day:02}{}", random.digits(4));
    let sum = weighted(&body, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    Value::with_words(format!("{body}{}", (10 - sum % 10) % 10), &["PESEL ", "numer PESEL: "])
}

fn sweden(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let (date, order) = (format!("{year:02}{month:02}{day:02}"), random.digits(3));
    let check = luhn_digit(&format!("{date}{order}"));
    let century = if random.chance(50) { "19" } else { "" };
    Value::new(format!("{century}{date}-{order}{check}"))
}

fn finland(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let (date, order) = (format!("{day:02}{month:02}{year:02}"), random.between(2, 899));
    let rest = (number(&format!("{date}{order:03}")) % 31) as usize;
    let check = &"0123456789ABCDEFHJKLMNPRSTUVWXY"[rest..=rest];
    Value::new(format!("{date}{}{order:03}{check}", random.pick(&["-", "-", "A", "Y"])))
}

fn belgium(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let body = format!("{year:02}{month:02}{day:02}{:03}", random.between(1, 997));
    let check = 97 - number(&body) % 97;
    if random.chance(60) {
        return Value::new(format!(
            "{}.{}.{}-{}.{check:02}",
            &body[..2],
            &body[2..4],
            &body[4..6],
            &body[6..]
        ));
    }
    Value::new(format!("{body}{check:02}"))
}

fn india(random: &mut Random) -> Value {
    // The multiplication and permutation tables of Verhoeff, as they are printed.
    const MULTIPLY: [&str; 10] = [
        "0123456789",
        "1234067895",
        "2340178956",
        "3401289567",
        "4012395678",
        "5987604321",
        "6598710432",
        "7659821043",
        "8765932104",
        "9876543210",
    ];
    const PERMUTE: [&str; 8] = [
        "0123456789",
        "1576283094",
        "5803796142",
        "8916043527",
        "9453126870",
        "4286573901",
        "2793806415",
        "7046913258",
    ];
    let at = |table: &str, place: u32| table.as_bytes()[place as usize] - b'0';
    let body = format!("{}{}", random.between(2, 9), random.digits(10));
    let product = numbers(&body).into_iter().rev().enumerate().fold(0, |product, (place, digit)| {
        at(MULTIPLY[usize::from(product)], u32::from(at(PERMUTE[(place + 1) % 8], digit)))
    });
    let check = (0..10).find(|check| at(MULTIPLY[usize::from(product)], *check) == 0).unwrap();
    let whole = format!("{body}{check}");
    let whole = if random.chance(60) { grouped(&whole, &[4, 4, 4], " ") } else { whole };
    Value::with_words(whole, &["Aadhaar ", "my Aadhaar number is ", "UIDAI: "])
}

fn britain(random: &mut Random) -> Value {
    let letters = format!("{}{}", random.text("ABCEHJLMPRSTWXYZ", 1), random.text("ABCEHJLMPRSWXY", 1));
    let letters = if ["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"].contains(&letters.as_str()) {
        "AB".to_owned()
    } else {
        letters
    };
    let (digits, suffix) = (random.digits(6), random.text("ABCD", 1));
    if random.chance(50) {
        return Value::new(format!("{letters} {} {} {} {suffix}", &digits[..2], &digits[2..4], &digits[4..]));
    }
    Value::with_words(format!("{letters}{digits}{suffix}"), &["NI number ", "National Insurance: ", "NINO "])
}

fn switzerland(random: &mut Random) -> Value {
    let body = format!("756{}", random.digits(9));
    let sum = weighted(&body, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
    let whole = format!("{body}{}", (10 - sum % 10) % 10);
    Value::new(if random.chance(80) { grouped(&whole, &[3, 4, 4, 2], ".") } else { whole })
}

fn korea(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let body = format!("{year:02}{month:02}{day:02}{}{}", random.between(1, 2), random.digits(5));
    let sum = weighted(&body, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    let whole = format!("{body}{}", (11 - sum % 11) % 10);
    Value::new(grouped(&whole, &[6, 7], "-"))
}

fn china(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let region = random.pick(&["110105", "310101", "440305", "510104", "330106"]);
    let body = format!("{region}19{year:02}{month:02}{day:02}{}", random.digits(3));
    let rest = weighted(&body, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
    Value::new(format!("{body}{}", &"10X98765432"[rest as usize..=rest as usize]))
}

fn norway(random: &mut Random) -> Value {
    loop {
        let (year, month, day) = birth(random);
        let body = format!("{day:02}{month:02}{year:02}{}", random.digits(3));
        let first = (11 - weighted(&body, &[3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11) % 11;
        let longer = format!("{body}{first}");
        let second = (11 - weighted(&longer, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11;
        if first < 10 && second < 10 {
            let whole = format!("{longer}{second}");
            return Value::new(if random.chance(50) { grouped(&whole, &[6, 5], " ") } else { whole });
        }
    }
}

fn czechia(random: &mut Random) -> Value {
    loop {
        let (year, month, day) = birth(random);
        let month = if random.chance(50) { month + 50 } else { month };
        let body = format!("{year:02}{month:02}{day:02}{}", random.digits(3));
        let check = number(&body) % 11;
        if check < 10 {
            return Value::new(format!("{}/{}{check}", &body[..6], &body[6..]));
        }
    }
}

fn south_africa(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let body = format!("{year:02}{month:02}{day:02}{}08", random.digits(4));
    Value::new(format!("{body}{}", luhn_digit(&body)))
}

fn chile(random: &mut Random) -> Value {
    let body = random.between(5_000_000, 25_000_000).to_string();
    let sum: u32 =
        numbers(&body).iter().rev().zip([2, 3, 4, 5, 6, 7, 2, 3]).map(|(digit, weight)| digit * weight).sum();
    let check = match 11 - sum % 11 {
        11 => "0".to_owned(),
        10 => "K".to_owned(),
        check => check.to_string(),
    };
    let (millions, rest) = body.split_at(body.len() - 6);
    Value::new(format!("{millions}.{}.{}-{check}", &rest[..3], &rest[3..]))
}

fn canada(random: &mut Random) -> Value {
    let body = format!("{}{}", random.between(1, 7), random.digits(7));
    let whole = format!("{body}{}", luhn_digit(&body));
    Value::with_words(grouped(&whole, &[3, 3, 3], " "), &["SIN ", "social insurance number "])
}

fn singapore(random: &mut Random) -> Value {
    let first = random.pick(&["S", "T", "F", "G"]);
    let body = random.digits(7);
    let offset = if matches!(first, "T" | "G") { 4 } else { 0 };
    let rest = ((offset + weighted(&body, &[2, 7, 6, 5, 4, 3, 2])) % 11) as usize;
    let letters = if matches!(first, "S" | "T") { "JZIHGFEDCBA" } else { "XWUTRQPNMLK" };
    Value::new(format!("{first}{body}{}", &letters[rest..=rest]))
}

fn turkey(random: &mut Random) -> Value {
    let body = format!("{}{}", random.between(1, 9), random.digits(8));
    let digits = numbers(&body);
    let odd: u32 = [0, 2, 4, 6, 8].iter().map(|place| digits[*place]).sum();
    let even: u32 = [1, 3, 5, 7].iter().map(|place| digits[*place]).sum();
    let first = (odd * 7 + 100 - even) % 10;
    let second = (odd + even + first) % 10;
    Value::with_words(format!("{body}{first}{second}"), &["TC kimlik no ", "TCKN: "])
}

fn argentina(random: &mut Random) -> Value {
    let body = format!("{}{}", random.pick(&["20", "27", "30"]), random.digits(8));
    let check = match 11 - weighted(&body, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11 {
        11 => 0,
        10 => 9,
        check => check,
    };
    Value::new(format!("{}-{}-{check}", &body[..2], &body[2..]))
}

fn estonia(random: &mut Random) -> Value {
    let (year, month, day) = birth(random);
    let body = format!("{}{year:02}{month:02}{day:02}{}", random.between(3, 4), random.digits(3));
    let first = weighted(&body, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(&body, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
    let check = if first < 10 { first } else { second % 10 };
    Value::with_words(format!("{body}{check}"), &["isikukood ", "Estonian personal code: "])
}
