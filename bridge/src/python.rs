//! What templates expect of Python: `json.dumps`, `str()` of floats, Markup escaping, a few methods.

use std::fmt::Write;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::guard::may_be_placeholder;

/// Prints a value as `str()` does; under autoescaping, what is not Markup is escaped as markupsafe does.
pub fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let escapes = !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe();
    let text;
    let text = match value.as_str() {
        Some(text) => text,
        None if value.kind() == ValueKind::Number && !value.is_integer() => {
            text = float_repr(f64::try_from(value.clone()).unwrap_or(f64::NAN));
            &text
        }
        None => {
            text = value.to_string();
            state.consume_fuel(text.len() as u64 / 4)?;
            &text
        }
    };
    if escapes {
        Ok(out.write_str(&escape_markup(text))?)
    } else {
        Ok(out.write_str(text)?)
    }
}

fn escape_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    out
}

/// `repr(float)`: the shortest digits that read back the same, in exponent form below 1e-4 and from 1e16 on.
fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-4..16).contains(&exponent) {
        let mut plain = format!("{value}");
        if !plain.contains('.') {
            plain.push_str(".0");
        }
        plain
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}

/// The test `iterable`: what Python's `iter()` accepts. None is not, an undefined value is (it is empty).
pub fn is_iterable(value: &Value) -> bool {
    use ValueKind::{Iterable, Map, Seq, String, Undefined};
    matches!(value.kind(), Iterable | Map | Seq | String | Undefined)
}

/// The filter `indent`: every line but the first (with `first` that too) begins with `width`; blank lines stay empty unless `blank`. Unlike
/// minijinja's it keeps a line break at the end.
pub fn indent(
    state: &State,
    text: &str,
    width: Option<Value>,
    first: Option<bool>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let width = width.map_or_else(|| kwargs.get::<Option<Value>>("width"), |width| Ok(Some(width)))?;
    let first = first.map_or_else(|| kwargs.get::<Option<bool>>("first"), |first| Ok(Some(first)))?.unwrap_or(false);
    let blank = kwargs.get::<Option<bool>>("blank")?.unwrap_or(false);
    kwargs.assert_all_used()?;
    let width = match &width {
        None => " ".repeat(4),
        Some(width) => indentation(width, "indent")?,
    };
    let mut out = String::new();
    for (number, line) in lines(text).enumerate() {
        // Every line may grow by the width, so pay before.
        state.consume_fuel(1 + width.len() as u64 / 64)?;
        if number > 0 {
            out.push('\n');
        }
        if (number > 0 && (blank || !line.is_empty())) || (number == 0 && first) {
            out.push_str(&width);
        }
        out.push_str(line);
    }
    Ok(out)
}

/// A width in blanks or the text itself.
fn indentation(width: &Value, filter: &str) -> Result<String, Error> {
    if let Some(text) = width.as_str() {
        return Ok(text.to_owned());
    }
    match width.as_usize().filter(|&n| n <= MAX_INDENT) {
        Some(blanks) => Ok(" ".repeat(blanks)),
        None => Err(Error::new(ErrorKind::InvalidOperation, format!("{filter}: the width must be 0 to {MAX_INDENT}"))),
    }
}

/// The lines of a text as `str.splitlines` finds them, and an empty one after a line break at the end.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let Some((at, c)) = current.char_indices().find(|&(_, c)| is_line_break(c)) else {
            rest = None;
            return Some(current);
        };
        let after = &current[at + c.len_utf8()..];
        rest = Some(if c == '\r' { after.strip_prefix('\n').unwrap_or(after) } else { after });
        Some(&current[..at])
    })
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// White space as `str.strip` knows it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// The filter `trim`: `str.strip` of anything.
pub fn trim(value: &Value, chars: Option<&str>) -> String {
    let owned;
    let text = match value.as_str() {
        Some(text) => text,
        None => {
            owned = value.to_string();
            &owned
        }
    };
    match chars {
        None => text.trim_matches(is_space).to_owned(),
        Some(chars) => text.trim_matches(|c| chars.contains(c)).to_owned(),
    }
}

/// Methods of Python's types. Those that the library's own set has not, or has with other white space, come first.
pub fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        let no_characters = args.is_empty() || (args.len() == 1 && args[0].is_none());
        match name {
            "strip" if no_characters => return Ok(text.trim_matches(is_space).into()),
            "lstrip" if no_characters => return Ok(text.trim_start_matches(is_space).into()),
            "rstrip" if no_characters => return Ok(text.trim_end_matches(is_space).into()),
            _ => {}
        }
    }
    unknown_method_callback(state, value, name, args)
}

/// The filter `tojson` as Hugging Face defines it: `json.dumps(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub fn tojson(state: &State, value: &Value, positional: Option<bool>, kwargs: Kwargs) -> Result<String, Error> {
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
        JsonWriter { state, out: String::new(), charged: 0, depth: 0, ensure_ascii, indent, item, key, sort_keys };
    writer.value(value)?;
    Ok(writer.out)
}

const MAX_INDENT: usize = 64;
const MAX_JSON_DEPTH: usize = 200;

struct JsonWriter<'a, 'e, 's> {
    state: &'a State<'e, 's>,
    out: String,
    charged: usize,
    depth: usize,
    ensure_ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    sort_keys: bool,
}

impl JsonWriter<'_, '_, '_> {
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
            self.separate(&mut first)?;
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
            self.separate(&mut first)?;
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
        if self.depth > MAX_JSON_DEPTH {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("tojson: nested deeper than {MAX_JSON_DEPTH} levels"),
            ));
        }
        self.out.push(bracket);
        Ok(())
    }

    fn separate(&mut self, first: &mut bool) -> Result<(), Error> {
        if !*first {
            self.out.push_str(&self.item);
        }
        *first = false;
        self.new_line(self.depth);
        // One unit for every four bytes, the engine's own price of serialising.
        let grown = self.out.len() - self.charged;
        self.charged = self.out.len();
        self.state.consume_fuel(1 + grown as u64 / 4)
    }

    fn close(&mut self, bracket: char, empty: bool) {
        self.depth -= 1;
        if !empty {
            self.new_line(self.depth);
        }
        self.out.push(bracket);
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

#[cfg(test)]
mod tests {
    use super::float_repr;

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, text) in [
            (1.0, "1.0"),
            (-3.5, "-3.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }
}
