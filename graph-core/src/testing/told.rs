//! The text form of a trace.

use std::fmt;
use std::format;
use std::string::String;
use std::vec::Vec;

use alloc::string::ToString;

use super::trace::Ran;

/// Displays a trace with one line per task, and marks some of the lines.
pub(super) struct Told<'t> {
    pub(super) ran: &'t [Ran],
    pub(super) is_marked: &'t dyn Fn(usize, &Ran) -> bool,
}

impl Told<'_> {
    /// Returns the supersteps of a place as text, from the graph at the top down.
    pub(super) fn at(at: &[i64]) -> String {
        format!("step {}", at.iter().map(ToString::to_string).collect::<Vec<_>>().join("."))
    }

    pub(super) fn times(times: usize) -> String {
        match times {
            0 => "never".into(),
            1 => "once".into(),
            times => format!("{times} times"),
        }
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ran.is_empty() {
            return f.write_str("  nothing ran");
        }
        let places: Vec<String> = self.ran.iter().map(|ran| Self::at(&ran.at)).collect();
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let place_width = widest(&mut places.iter().map(String::len));
        let node_width = widest(&mut self.ran.iter().map(|ran| ran.node.chars().count()));
        for (index, (ran, place)) in self.ran.iter().zip(&places).enumerate() {
            let mark = if (self.is_marked)(index, ran) { '>' } else { ' ' };
            let mut line = format!("{mark} {place:place_width$}  {:node_width$}", ran.node);
            if let Some(case) = &ran.case {
                line += &format!("  took {case}");
            }
            if !ran.wrote.is_empty() {
                line += &format!("  wrote {}", ran.wrote.join(", "));
            }
            if let Some(error) = &ran.failed {
                line += &format!("  failed: {error}");
            }
            let end = if index + 1 < self.ran.len() { "\n" } else { "" };
            write!(f, "{}{end}", line.trim_end())?;
        }
        Ok(())
    }
}
