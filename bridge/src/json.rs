//! The filter `tojson`: Python's `json.dumps`.

use std::fmt::Write;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use crate::guard::may_be_placeholder;
use crate::meter::spend_printed;
use crate::python::{float_repr, indentation};
use crate::values::{too_deep, MAX_DEPTH};

/// The filter `tojson` as Hugging Face defines it: `json.dumps(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub fn tojson(value: &Value, positional: Option<bool>, kwargs: Kwargs) -> Result<String, Error> {
    let ensure_ascii = match positional {
        Some(flag) => flag,
        None => kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
    };
    let indent = match kwargs.get::<Option<Value>>("indent")? {
        None => None,
        Some(indent) if indent.is_none() => None,
        Some(indent) => Some(indentation(&indent, "tojson")?),
    };
    let separators = kwargs.get::<Option<Vec<String>>>("separators")?;
    let (item, key) = match separators.as_deref() {
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => return Err(Error::new(ErrorKind::InvalidOperation, "tojson: separators must be two strings")),
    };
    let sort_keys = kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    kwargs.assert_all_used()?;
    let mut writer =
        JsonWriter { out: String::new(), charged: 0, depth: 0, ensure_ascii, indent, item, key, sort_keys };
    writer.value(value)?;
    Ok(writer.out)
}

struct JsonWriter {
    out: String,
    charged: usize,
    depth: usize,
    ensure_ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    sort_keys: bool,
}

impl JsonWriter {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number if value.is_integer() => write!(self.out, "{value}")?,
            ValueKind::Number => {
                let number = f64::try_from(value.clone())?;
                self.out.push_str(&match number {
                    n if n.is_nan() => "NaN".to_owned(),
                    n if n.is_infinite() => if n > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
                    n => float_repr(n),
                });
            }
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.array(value)?,
            ValueKind::Map => self.object(value)?,
            kind => {
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    format!("tojson: a value of type {kind} is not JSON serializable"),
                ))
            }
        }
        Ok(())
    }

    fn array(&mut self, value: &Value) -> Result<(), Error> {
        self.open('[')?;
        let mut first = true;
        for item in value.try_iter()?.checked() {
            let item = item?;
            self.separate(&mut first);
            self.value(&item)?;
        }
        self.close(']', first);
        Ok(())
    }

    fn object(&mut self, value: &Value) -> Result<(), Error> {
        self.open('{')?;
        let mut keys = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
        if self.sort_keys {
            keys.sort();
        }
        let mut first = true;
        for key in keys {
            self.separate(&mut first);
            match key.as_str() {
                Some(text) => self.string(text),
                None => {
                    self.out.push('"');
                    self.value(&key)?;
                    self.out.push('"');
                }
            }
            self.out.push_str(&self.key);
            self.value(&value.get_item(&key)?)?;
        }
        self.close('}', first);
        Ok(())
    }

    fn open(&mut self, bracket: char) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        self.out.push(bracket);
        Ok(())
    }

    fn separate(&mut self, first: &mut bool) {
        if !*first {
            self.out.push_str(&self.item);
        }
        *first = false;
        self.new_line(self.depth);
        self.charge();
    }

    fn charge(&mut self) {
        spend_printed(self.out.len() - self.charged);
        self.charged = self.out.len();
    }

    fn close(&mut self, bracket: char, empty: bool) {
        self.depth -= 1;
        if !empty {
            self.new_line(self.depth);
        }
        self.out.push(bracket);
        self.charge();
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push('\n');
            for _ in 0..depth {
                self.out.push_str(indent);
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if (c as u32) < 0x20 => escape_utf16(&mut self.out, c),
                c if self.ensure_ascii && !c.is_ascii() && !may_be_placeholder(c) => escape_utf16(&mut self.out, c),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn escape_utf16(out: &mut String, c: char) {
    let mut units = [0u16; 2];
    for unit in c.encode_utf16(&mut units) {
        // Writing to a String can't fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}
