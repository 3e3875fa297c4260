//! What templates expect of Python's own types: `str()`, `repr()`, their methods, Markup escaping, a few filters and tests.

use std::borrow::Cow;
use std::fmt::Write;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::guard::may_be_placeholder;

/// Of printed and serialised values; a namespace may even hold itself.
pub const MAX_DEPTH: usize = 200;

const MAX_INDENT: usize = 64;

pub fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("a value is nested deeper than {MAX_DEPTH} levels"))
}

/// Prints a value as `str()` does; under autoescaping, what is not Markup is escaped as markupsafe does.
pub fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let escapes = !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe();
    let text = str_of(state, value)?;
    if escapes {
        Ok(out.write_str(&escape_markup(&text))?)
    } else {
        Ok(out.write_str(&text)?)
    }
}

/// `str(value)`; nothing for an undefined value.
fn str_of<'v>(state: &State, value: &'v Value) -> Result<Cow<'v, str>, Error> {
    if let Some(text) = value.as_str() {
        return Ok(Cow::Borrowed(text));
    }
    if value.is_undefined() {
        return Ok(Cow::Borrowed(""));
    }
    let mut writer = ReprWriter { state, out: String::new(), charged: 0, depth: 0 };
    writer.value(value)?;
    Ok(Cow::Owned(writer.out))
}

struct ReprWriter<'a, 'e, 's> {
    state: &'a State<'e, 's>,
    out: String,
    charged: usize,
    depth: usize,
}

impl ReprWriter<'_, '_, '_> {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::Undefined => self.out.push_str("Undefined"),
            ValueKind::None => self.out.push_str("None"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "True" } else { "False" }),
            ValueKind::Number if value.is_integer() => write!(self.out, "{value}")?,
            ValueKind::Number => self.out.push_str(&float_repr(f64::try_from(value.clone())?)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Map => self.map(value)?,
            ValueKind::Seq | ValueKind::Iterable if value.is_tuple() => self.sequence(value, "(", ")")?,
            ValueKind::Seq | ValueKind::Iterable => self.sequence(value, "[", "]")?,
            _ => write!(self.out, "{value}")?,
        }
        Ok(())
    }

    fn sequence(&mut self, value: &Value, open: &str, close: &str) -> Result<(), Error> {
        self.enter()?;
        self.out.push_str(open);
        let mut count = 0usize;
        for item in value.try_iter()?.checked() {
            let item = item?;
            self.separate(count)?;
            self.value(&item)?;
            count += 1;
        }
        if count == 1 && value.is_tuple() {
            self.out.push(',');
        }
        self.out.push_str(close);
        self.depth -= 1;
        Ok(())
    }

    fn map(&mut self, value: &Value) -> Result<(), Error> {
        self.enter()?;
        self.out.push('{');
        for (count, key) in value.try_iter()?.checked().enumerate() {
            let key = key?;
            self.separate(count)?;
            self.value(&key)?;
            self.out.push_str(": ");
            self.value(&value.get_item(&key)?)?;
        }
        self.out.push('}');
        self.depth -= 1;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(())
    }

    fn separate(&mut self, count: usize) -> Result<(), Error> {
        if count > 0 {
            self.out.push_str(", ");
        }
        // One unit for every four bytes, the engine's own price of serialising.
        let grown = self.out.len() - self.charged;
        self.charged = self.out.len();
        self.state.consume_fuel(1 + grown as u64 / 4)
    }

    fn string(&mut self, text: &str) {
        let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
        self.out.push(quote);
        for c in text.chars() {
            match c {
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c == quote => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                c if is_printable(c) || may_be_placeholder(c) => self.out.push(c),
                c => escape_code_point(&mut self.out, c as u32),
            }
        }
        self.out.push(quote);
    }
}

fn escape_code_point(out: &mut String, code: u32) {
    // Writing to a String can't fail.
    let _ = match code {
        0..=0xFF => write!(out, "\\x{code:02x}"),
        0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// `str.isprintable`: Rust's own debug format escapes the same categories, once the first character is past.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let mut buffer = [b'a'; 5];
    let end = 1 + c.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..end]).is_ok_and(|text| text.escape_debug().count() == 2)
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
pub fn float_repr(value: f64) -> String {
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

/// The test `sequence`: what has a length and can be indexed, texts and dictionaries too.
pub fn is_sequence(value: &Value) -> bool {
    use ValueKind::{Iterable, Map, Seq, String, Undefined};
    match value.kind() {
        Map | Seq | String | Undefined => true,
        Iterable => value.len().is_some(),
        _ => false,
    }
}

/// The filter `default`: for what is undefined, with `boolean` for whatever is false too.
pub fn default(value: Value, other: Option<Value>, boolean: Option<bool>, kwargs: Kwargs) -> Result<Value, Error> {
    let other = match other {
        Some(other) => other,
        None => kwargs.get::<Option<Value>>("default_value")?.unwrap_or_else(|| Value::from("")),
    };
    let boolean = match boolean {
        Some(boolean) => boolean,
        None => kwargs.get::<Option<bool>>("boolean")?.unwrap_or(false),
    };
    kwargs.assert_all_used()?;
    Ok(if value.is_undefined() || (boolean && !value.is_true()) { other } else { value })
}

/// The filter `int`: whole numbers as they are, others cut, texts read, `default` for what can't be.
pub fn int(value: &Value, default: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let default = match default {
        Some(default) => default,
        None => kwargs.get::<Option<Value>>("default")?.unwrap_or_else(|| Value::from(0)),
    };
    kwargs.assert_all_used()?;
    let cut = |number: f64| (number.abs() < 1e38).then(|| Value::from(number.trunc() as i128));
    let read = match value.kind() {
        ValueKind::Bool => Some(Value::from(i64::from(value.is_true()))),
        ValueKind::Number if value.is_integer() => Some(value.clone()),
        ValueKind::Number => f64::try_from(value.clone()).ok().and_then(cut),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default().trim_matches(is_space);
            text.parse::<i128>().ok().map(Value::from).or_else(|| text.parse().ok().and_then(cut))
        }
        _ => None,
    };
    Ok(read.unwrap_or(default))
}

/// The filter `float`: the number that a number or a text is, `default` for what is none.
pub fn float(value: &Value, default: Option<Value>) -> Value {
    let read = match value.as_str() {
        Some(text) => text.trim_matches(is_space).parse().ok(),
        None => f64::try_from(value.clone()).ok(),
    };
    read.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from)
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
pub fn indentation(width: &Value, filter: &str) -> Result<String, Error> {
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
pub fn trim(state: &State, value: &Value, chars: Option<&str>) -> Result<String, Error> {
    let text = str_of(state, value)?;
    Ok(match chars {
        None => text.trim_matches(is_space).to_owned(),
        Some(chars) => text.trim_matches(|c| chars.contains(c)).to_owned(),
    })
}

/// The filter `string`: `str()`, which leaves Markup what it is.
pub fn string(state: &State, value: &Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(_) => Ok(value.clone()),
        None => Ok(Value::from(str_of(state, value)?.into_owned())),
    }
}

/// The filter `join`: the items, or one attribute of each, with a text between them.
pub fn join(state: &State, value: &Value, between: Option<&str>, kwargs: Kwargs) -> Result<String, Error> {
    let between = match between {
        Some(between) => between,
        None => kwargs.get::<Option<&str>>("d")?.unwrap_or_default(),
    };
    let attribute = kwargs.get::<Option<&str>>("attribute")?;
    kwargs.assert_all_used()?;
    let mut out = String::new();
    for (count, item) in value.try_iter()?.checked().enumerate() {
        let item = item?;
        let item = match attribute {
            Some(name) => item.get_attr(name)?,
            None => item,
        };
        state.consume_fuel(1 + between.len() as u64 / 64)?;
        if count > 0 {
            out.push_str(between);
        }
        out.push_str(&str_of(state, &item)?);
    }
    Ok(out)
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
    if name == "format" && value.as_str().is_some_and(has_wide_field) {
        let message = format!("a width or precision of format() has more than {MAX_FIELD_DIGITS} digits");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    unknown_method_callback(state, value, name, args)
}

/// Steps do not count what padding costs: the widths themselves are bounded.
const MAX_FIELD_DIGITS: usize = 4;

fn has_wide_field(pattern: &str) -> bool {
    pattern.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > MAX_FIELD_DIGITS)
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
