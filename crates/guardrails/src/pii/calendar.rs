//! Calendar dates inside of identifiers.

/// Whether a year of two digits, a month and a day are a date in some century.
pub fn is_short_date(year: u8, month: u8, day: u8) -> bool {
    is_date(2000 + u32::from(year % 100), month, day)
}

/// Whether a date exists.
pub fn is_date(year: u32, month: u8, day: u8) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=length).contains(&day)
}

/// Two digits as a number.
pub fn pair(digits: &[u8], start: usize) -> u8 {
    match digits.get(start..start + 2) {
        Some([tens, ones]) => tens * 10 + ones,
        _ => u8::MAX,
    }
}
