//! `firebox bench <algorithm>`: a paper's figures, beside ours.

use std::io::{Result, Write};

use firebox_core::plugin::BenchRow;

use super::{Row, milliseconds, size};

impl Row for BenchRow {
    fn head(out: &mut dyn Write) -> Result<()> {
        let [table, case, size, ms, paper, times] = ["table", "case", "size", "ms", "paper ms", "faster"];
        writeln!(out, "{table:<10} {case:<36} {size:<16} {ms:>12} {paper:>12} {times:>8}")
    }

    fn human(&self, out: &mut dyn Write) -> Result<()> {
        let size = size(&self.size);
        let paper = self.paper_ms.map_or_else(String::new, milliseconds);
        let times = self.paper_ms.filter(|_| self.ms > 0.0);
        let times = times.map_or_else(String::new, |paper| format!("{:.1}×", paper / self.ms));
        let ms = milliseconds(self.ms);
        writeln!(out, "{:<10} {:<36} {size:<16} {ms:>12} {paper:>12} {times:>8}", self.table, self.case)
    }

    fn algorithm(name: &str) -> Option<&str> {
        Some(name)
    }
}
