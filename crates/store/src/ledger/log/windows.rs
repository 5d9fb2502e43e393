//! Time windows that contain the rows of a page, determined from counts.

/// Consecutive quarter hours.
#[derive(Debug, PartialEq)]
pub(super) struct Window {
    pub first: i64,
    pub last: i64,
    pub count: i64,
}

/// Merges adjacent quarter hours until a window holds `enough` rows; `counts` are (number of the quarter hour, rows),
/// newest first.
pub(super) fn windows(counts: &[(i64, i64)], enough: i64) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for (number, count) in counts {
        match windows.last_mut() {
            Some(window) if window.first == number + 1 && window.count < enough => {
                window.first = *number;
                window.count += count;
            }
            _ => windows.push(Window { first: *number, last: *number, count: *count }),
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined_until_there_is_enough() {
        let window = |first, last, count| Window { first, last, count };
        assert_eq!(windows(&[], 5), []);
        assert_eq!(
            windows(&[(9, 1), (8, 2), (6, 7), (5, 1)], 5),
            [window(8, 9, 3), window(6, 6, 7), window(5, 5, 1)]
        );
        assert_eq!(windows(&[(9, 4), (8, 4), (7, 4)], 5), [window(8, 9, 8), window(7, 7, 4)]);
    }
}
