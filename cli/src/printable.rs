//! Text from files made fit for a terminal: control characters escaped, long words and messages shortened.

use std::fmt::Write;

/// Characters of a word that are kept whole: long enough for most paths.
const WORD: usize = 160;
/// Characters of a number that are kept whole.
const NUMBER: usize = 32;
/// Characters of a message that are kept whole.
const MESSAGE: usize = 1200;

/// `text` on one line, without characters that a terminal acts on, and of bounded length.
pub(crate) fn line(text: &str) -> String {
    shortened(&words(&escaped(text)), MESSAGE)
}

/// Each line of `text` as [`line`] makes it.
pub(crate) fn lines(text: &str) -> String {
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Escapes C0 and C1 controls, line and paragraph separators, and the marks that turn the direction of text.
fn escaped(text: &str) -> String {
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

/// Shortens every long word, numbers more than others.
fn words(text: &str) -> String {
    let short = |word: &str| {
        let is_number =
            word.bytes().any(|b| b.is_ascii_digit()) && !word.bytes().any(|b| b.is_ascii_alphabetic() && b != b'e');
        let is_number = is_number && !word.contains('/');
        shortened(word, if is_number { NUMBER } else { WORD })
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// Keeps two thirds of `most` characters from the start and the rest from the end.
fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let head = 2 * most / 3;
    let tail = most - head - 1;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_acts_on_are_escaped() {
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
        assert!(line(&"word ".repeat(10_000)).chars().count() <= MESSAGE);
        let path = format!("/{}/a.csv", "folder/".repeat(20));
        assert_eq!(line(&path), path);
    }
}
