//! Sanitizes text from files for a terminal: escapes control characters, shortens long words and messages.

use std::fmt::Write;

use crate::flags;

/// Maximum characters of a word, long enough for most paths.
const MAX_WORD: usize = 160;
/// Maximum characters of a number.
const MAX_NUMBER: usize = 32;
/// Maximum characters of a message.
const MAX_MESSAGE: usize = 1200;

/// Returns `text` on one line of bounded length, with flags in place of fields and control characters escaped.
pub(crate) fn line(text: &str) -> String {
    truncate(&truncate_words(&escape(&flags::substitute(text))), MAX_MESSAGE)
}

/// Applies [`line`] to each line of `text`.
pub(crate) fn lines(text: &str) -> String {
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Escapes C0 and C1 controls, line and paragraph separators, and bidirectional formatting characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let format =
            matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() || format {
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Truncates long words, with a smaller limit for numbers.
fn truncate_words(text: &str) -> String {
    let truncate_word = |word: &str| {
        let is_number =
            word.bytes().any(|b| b.is_ascii_digit()) && !word.bytes().any(|b| b.is_ascii_alphabetic() && b != b'e');
        let is_number = is_number && !word.contains('/');
        truncate(word, if is_number { MAX_NUMBER } else { MAX_WORD })
    };
    text.split(' ').map(truncate_word).collect::<Vec<_>>().join(" ")
}

/// Limits `text` to `max` characters: two thirds from its start and the rest from its end.
fn truncate(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.into();
    }
    let head = 2 * max / 3;
    let tail = max - head - 1;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let text = "a\u{1b}]0;evil\u{7}b\u{9b}2Jc\r\nd\u{202e}e\tf";
        let shown = line(text);
        assert_eq!(shown, "a\\u{1b}]0;evil\\u{7}b\\u{9b}2Jc\\r\\nd\\u{202e}e\\tf");
        assert_eq!(line("é 漢 √Σr²/N — “x”"), "é 漢 √Σr²/N — “x”");
        assert_eq!(lines("one\ntwo\u{1b}"), "one\ntwo\\u{1b}");
    }

    #[test]
    fn long_text_is_shortened_in_the_middle() {
        let header = "h".repeat(1 << 20);
        let shown = line(&format!("a.csv, line 2, column {header}: \"x\" is not a number"));
        assert!(shown.starts_with("a.csv, line 2, column hhh") && shown.ends_with(" is not a number"), "{shown}");
        assert!(shown.chars().count() < 300, "{shown}");
        let number = format!("{}", 1e308);
        let shown = line(&format!("penalty = {number}: must be less"));
        assert!(shown.chars().count() < 70 && shown.ends_with(": must be less"), "{shown}");
        assert!(line(&"word ".repeat(10_000)).chars().count() <= MAX_MESSAGE);
        let path = format!("/{}/a.csv", "folder/".repeat(20));
        assert_eq!(line(&path), path);
    }
}
