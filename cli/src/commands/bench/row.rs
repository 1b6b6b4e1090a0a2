//! Rows of benchmark tables as text.

use std::io::Write;

use serde::Serialize;

/// A measurement as a row of a table.
pub(super) trait Row: Serialize {
    /// Writes the table's header.
    fn header(out: &mut dyn Write) -> std::io::Result<()>;
    /// Writes the row as text.
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()>;
    /// Returns `name` if the row does not contain the algorithm's name.
    fn algorithm(name: &str) -> Option<&str>;
}

/// Formats a size as `1000 × 2`.
pub(super) fn size(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
}

/// Formats milliseconds with four significant digits, or all integer digits if there are more.
pub(super) fn milliseconds(ms: f64) -> String {
    let digits = if ms > 0.0 { (3 - ms.log10().floor() as i32).clamp(0, 6) } else { 0 };
    format!("{ms:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn milliseconds_have_four_significant_digits() {
        for (ms, text) in [(0.0, "0"), (0.00842, "0.008420"), (1.0, "1.000"), (12.345, "12.35"), (123_456.7, "123457")]
        {
            assert_eq!(milliseconds(ms), text);
        }
    }
}
