//! `firebox bench <algorithm>`: a paper's tables and figures, with the paper's times and ours.

use std::io::{Result, Write};

use firebox_backends::bench::BenchRow;

use super::row::{Row, milliseconds, size};

impl Row for BenchRow {
    fn header(out: &mut dyn Write) -> Result<()> {
        let [table, case, size, ms, paper, speedup] = ["table", "case", "size", "ms", "paper ms", "faster"];
        writeln!(out, "{table:<10} {case:<36} {size:<16} {ms:>12} {paper:>12} {speedup:>8}")
    }

    fn text(&self, out: &mut dyn Write) -> Result<()> {
        let size = size(&self.size);
        let paper = self.paper_ms.map_or_else(String::new, milliseconds);
        let speedup = self.paper_ms.filter(|_| self.ms > 0.0);
        let speedup = speedup.map_or_else(String::new, |paper| format!("{:.1}×", paper / self.ms));
        let ms = milliseconds(self.ms);
        writeln!(out, "{:<10} {:<36} {size:<16} {ms:>12} {paper:>12} {speedup:>8}", self.table, self.case)
    }

    fn algorithm(name: &str) -> Option<&str> {
        Some(name)
    }
}
