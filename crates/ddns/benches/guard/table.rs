//! The table in the repository: the value of each measure at its last change, how much higher it may be, and why it was changed.

/// The start of the line that names the compiler and valgrind.
const MADE: &str = "Made with ";

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) measure: String,
    pub(crate) value: u64,
    /// In percent.
    pub(crate) limit: u64,
    pub(crate) reason: String,
}

impl Row {
    /// Whether a value is within the limit. If the table says 0, only 0 is.
    pub(crate) fn allows(&self, value: u64) -> bool {
        value * 100 <= self.value * (100 + self.limit)
    }

    /// Whether a value is so much lower that the table should be updated.
    pub(crate) fn could_be_less(&self, value: u64) -> bool {
        value * 100 < self.value * (100 - self.limit)
    }

    /// Whether a value differs by more than half the limit, so that it is a real change.
    fn differs(&self, value: u64) -> bool {
        value.abs_diff(self.value) * 200 > self.value * self.limit
    }

    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [measure, value, limit, reason] = cells[..] else { return None };
        let value = value.replace(',', "").parse().ok()?;
        let limit = limit.strip_suffix(" %")?.parse().ok()?;
        Some(Self { measure: measure.to_owned(), value, limit, reason: reason.to_owned() })
    }

    fn line(&self) -> String {
        format!("| {} | {} | {} % | {} |\n", self.measure, grouped(self.value), self.limit, self.reason)
    }
}

/// The row of a measure.
pub(crate) fn row<'a>(table: &'a [Row], measure: &str) -> Option<&'a Row> {
    table.iter().find(|row| row.measure == measure)
}

/// The rows in a text. Other lines are for people.
pub(crate) fn read(text: &str) -> Vec<Row> {
    text.lines().filter_map(Row::read).collect()
}

/// The text with the measured values. A row stays unchanged if its value does not differ or was not measured; a row that no longer has
/// a measure is removed.
pub(crate) fn changed(text: &str, measured: &[(&str, Option<u64>)], made_with: &str, reason: &str) -> String {
    let table = read(text);
    let mut new = String::new();
    for line in text.lines().filter(|line| Row::read(line).is_none()) {
        let line = if line.starts_with(MADE) { format!("{MADE}{made_with}.") } else { line.to_owned() };
        new.push_str(&format!("{line}\n"));
    }
    for (measure, value) in measured {
        let known = row(&table, measure);
        let row = match (known, *value) {
            (Some(known), Some(value)) if known.differs(value) => {
                Row { value, reason: reason.to_owned(), ..known.clone() }
            }
            (Some(known), _) => known.clone(),
            (None, Some(value)) => Row { measure: (*measure).to_owned(), value, limit: 2, reason: reason.to_owned() },
            (None, None) => continue,
        };
        new.push_str(&row.line());
    }
    new
}

/// A number as people read it: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
