//! What templates expect of Python's own types: `str()`, `repr()`, their methods, Markup escaping, a few filters and tests.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::guard::may_be_placeholder;
use crate::meter::{spend_copied, spend_printed};
use crate::values::{self, is_container, is_tuple, too_deep, MAX_DEPTH};

const MAX_INDENT: usize = 64;

/// Prints a value as `str()` does; under autoescaping, what is not Markup is escaped as markupsafe does.
pub fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let escapes = !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe();
    let text = str_of(value)?;
    if escapes {
        Ok(out.write_str(&escape_markup(&text))?)
    } else {
        Ok(out.write_str(&text)?)
    }
}

/// `str(value)`; nothing for an undefined value.
fn str_of(value: &Value) -> Result<Cow<'_, str>, Error> {
    if let Some(text) = value.as_str() {
        return Ok(Cow::Borrowed(text));
    }
    if value.is_undefined() {
        return Ok(Cow::Borrowed(""));
    }
    repr(value).map(Cow::Owned)
}

/// `repr(value)`.
pub fn repr(value: &Value) -> Result<String, Error> {
    let mut writer = ReprWriter { out: String::new(), charged: 0, depth: 0 };
    writer.value(value)?;
    writer.charge();
    Ok(writer.out)
}

struct ReprWriter {
    out: String,
    charged: usize,
    depth: usize,
}

impl ReprWriter {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::Undefined => self.out.push_str("Undefined"),
            ValueKind::None => self.out.push_str("None"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "True" } else { "False" }),
            ValueKind::Number if value.is_integer() => write!(self.out, "{value}")?,
            ValueKind::Number => self.out.push_str(&float_repr(f64::try_from(value.clone())?)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Map => self.map(value)?,
            ValueKind::Seq | ValueKind::Iterable if is_tuple(value) => self.sequence(value, "(", ")")?,
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
            self.separate(count);
            self.value(&item)?;
            count += 1;
        }
        if count == 1 && is_tuple(value) {
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
            self.separate(count);
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

    fn separate(&mut self, count: usize) {
        if count > 0 {
            self.out.push_str(", ");
        }
        self.charge();
    }

    fn charge(&mut self) {
        spend_printed(self.out.len() - self.charged);
        self.charged = self.out.len();
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
pub fn indent(text: &str, width: Option<Value>, first: Option<bool>, kwargs: Kwargs) -> Result<String, Error> {
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
        spend_copied(width.len());
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
    let text = match width.as_str() {
        Some(text) => Some(text.to_owned()),
        None => width.as_usize().filter(|&n| n <= MAX_INDENT).map(|blanks| " ".repeat(blanks)),
    };
    text.filter(|text| text.len() <= MAX_INDENT).ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, format!("{filter}: the width must be 0 to {MAX_INDENT}"))
    })
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
pub fn trim(value: &Value, chars: Option<&str>) -> Result<String, Error> {
    let text = str_of(value)?;
    Ok(match chars {
        None => text.trim_matches(is_space).to_owned(),
        Some(chars) => text.trim_matches(one_of(chars)).to_owned(),
    })
}

/// A pattern of single characters that takes the same time however many there are.
fn one_of(chars: &str) -> impl Fn(char) -> bool {
    let set: HashSet<char> = chars.chars().collect();
    move |c| set.contains(&c)
}

/// The filter `string`: `str()`, which leaves Markup what it is.
pub fn string(value: &Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(_) => Ok(value.clone()),
        None => Ok(Value::from(str_of(value)?.into_owned())),
    }
}

/// The filter `join`: the items, or one attribute of each, with a text between them.
pub fn join(value: &Value, between: Option<&str>, kwargs: Kwargs) -> Result<String, Error> {
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
        let text = str_of(&item)?;
        spend_copied(between.len() + text.len());
        if count > 0 {
            out.push_str(between);
        }
        out.push_str(&text);
    }
    Ok(out)
}

/// The filter `sum`, of numbers only: adding up lists or texts copies the sum for each of them.
pub fn sum(
    state: &State,
    values: Value,
    attribute: Option<&str>,
    start: Option<Value>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let start = start.map_or_else(|| kwargs.get::<Option<Value>>("start"), |start| Ok(Some(start)))?;
    if start.as_ref().is_some_and(|start| !start.is_number()) {
        return Err(Error::new(ErrorKind::InvalidOperation, "sum: the start must be a number"));
    }
    minijinja::filters::sum(state, values, attribute, start, kwargs)
}

/// The filter `format`: printf by keyword or position.
pub fn format(state: &mut State, pattern: &Value, args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let text = pattern.as_str().unwrap_or_default();
    check_fields(text, '%', args.iter().map(|arg| &**arg))?;
    minijinja::filters::format(state, pattern, args)
}

/// The function `namespace`: what it is given is kept.
pub fn namespace(defaults: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
    let mut entries = Vec::new();
    if let Some(defaults) = defaults {
        for key in defaults.try_iter()?.checked() {
            let key = key?;
            let value = defaults.get_item(&key)?;
            entries.push((key, value));
        }
    }
    for key in kwargs.args() {
        entries.push((Value::from(key), kwargs.get::<Value>(key)?));
    }
    if entries.len() > MAX_NAMESPACE {
        let message = format!("namespace: more than {MAX_NAMESPACE} names");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    minijinja::functions::namespace(Some(ValueOrKwargs::from(values::dict(entries)?)))
}

/// Methods of Python's types. Those that the library's own set has not, or has with other white space, or does not count, come first.
pub fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        match (name, args) {
            ("strip" | "lstrip" | "rstrip", []) => return Ok(strip(text, name, is_space)),
            ("strip" | "lstrip" | "rstrip", [chars]) if chars.is_none() => return Ok(strip(text, name, is_space)),
            ("strip" | "lstrip" | "rstrip", [chars]) if chars.as_str().is_some() => {
                return Ok(strip(text, name, one_of(chars.as_str().unwrap_or_default())));
            }
            ("join", [items]) => {
                let no_kwargs = Kwargs::from_iter(std::iter::empty::<(&str, Value)>());
                return join(items, Some(text), no_kwargs).map(Value::from);
            }
            ("format", args) => check_fields(text, '{', args.iter())?,
            _ => {}
        }
    }
    unknown_method_callback(state, value, name, args)
}

fn strip(text: &str, side: &str, pattern: impl Fn(char) -> bool) -> Value {
    Value::from(match side {
        "strip" => text.trim_matches(pattern),
        "lstrip" => text.trim_start_matches(pattern),
        _ => text.trim_end_matches(pattern),
    })
}

const MAX_NAMESPACE: usize = 1000;

/// Steps do not count what padding costs: the widths themselves are bounded.
const MAX_FIELD_DIGITS: usize = 4;

/// Pays for what formatting may give at most: each field may show the longest argument.
fn check_fields<'v>(pattern: &str, mark: char, args: impl Iterator<Item = &'v Value>) -> Result<(), Error> {
    if pattern.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > MAX_FIELD_DIGITS) {
        let message = format!("a width or precision of format() has more than {MAX_FIELD_DIGITS} digits");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let mut longest = 0;
    for arg in args {
        longest = longest.max(text_size(arg)?);
    }
    spend_copied(pattern.matches(mark).count().saturating_mul(longest));
    Ok(())
}

/// Bytes of a value's longest text: fields may show parts of it.
fn text_size(value: &Value) -> Result<usize, Error> {
    match value.as_str() {
        Some(text) => Ok(text.len()),
        None if is_container(value) => Ok(repr(value)?.len()),
        None => Ok(0),
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
