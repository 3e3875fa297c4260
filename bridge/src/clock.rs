//! `strftime_now(format)` over a clock that the caller states.

use std::fmt::Write;

use chrono::format::{Item, StrftimeItems};
use chrono::NaiveDateTime;
use minijinja::{Error, ErrorKind, Value};

const MAX_FORMAT_BYTES: usize = 256;

/// A function value that formats `now`, an ISO 8601 local time such as `2026-01-15T12:00:00`.
pub fn strftime_now(now: &str) -> Option<Value> {
    let now: NaiveDateTime = now.get(..19).unwrap_or(now).parse().ok()?;
    Some(Value::from_function(move |format: &str| strftime(&now, format)))
}

fn strftime(now: &NaiveDateTime, format: &str) -> Result<String, Error> {
    if format.len() > MAX_FORMAT_BYTES {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("strftime_now: the format is longer than {MAX_FORMAT_BYTES} bytes"),
        ));
    }
    let unsupported =
        || Error::new(ErrorKind::InvalidOperation, format!("strftime_now: unsupported format '{format}'"));
    let items: Vec<Item> = StrftimeItems::new(format).collect();
    if items.contains(&Item::Error) {
        return Err(unsupported());
    }
    let mut text = String::new();
    write!(text, "{}", now.format_with_items(items.into_iter())).map_err(|_| unsupported())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_as_c_does() {
        let now = "2026-01-05T12:00:00".parse().unwrap();
        assert_eq!(strftime(&now, "%d %b %Y").unwrap(), "05 Jan 2026");
        assert_eq!(strftime(&now, "%B %d, %Y %-d %H:%M").unwrap(), "January 05, 2026 5 12:00");
    }

    #[test]
    fn a_bad_format_is_an_error() {
        let now = "2026-01-05T12:00:00".parse().unwrap();
        assert!(strftime(&now, "%Q").is_err());
        assert!(strftime(&now, "%z").is_err());
    }
}
