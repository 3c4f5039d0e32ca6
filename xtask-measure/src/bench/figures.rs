//! Figures as people read them: three significant digits, and a unit.

/// A time, from nanoseconds.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A number of bytes, in units of 1024.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes < 1024.0 * 1024.0 {
        format!("{} KiB", digits(bytes / 1024.0))
    } else {
        format!("{} MiB", digits(bytes / (1024.0 * 1024.0)))
    }
}

/// Three significant digits, and all digits before the point.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The middle value; of an even number of them the upper of the two.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(time(12.344), "12.3 ns");
        assert_eq!(time(1_234.0), "1.23 µs");
        assert_eq!(time(99_960_000.0), "100 ms");
        assert_eq!(time(2.5e9), "2.50 s");
        assert_eq!(bytes(64.0 * 1024.0 * 1024.0), "64.0 MiB");
        assert_eq!(bytes(512.0), "0.50 KiB");
    }

    #[test]
    fn the_median_of_nothing_is_nothing() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
    }
}
