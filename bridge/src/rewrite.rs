//! Source rewriting for what publishers' templates use and minijinja has not.
//!
//! * `{% generation %} ... {% endgeneration %}` marks the assistant's words for training. Rendering ignores it: it becomes an `if true`.
//! * `x | safe + y`: in Jinja2 `safe` gives a Markup string, and adding to one HTML-escapes the other side whatever autoescaping says. minijinja
//!   does so under autoescaping only, so a print statement that holds both is wrapped in an autoescape block of its own.
//! * `a * b` becomes `a * (1 if true) * b`: minijinja works out products of constants when it compiles, where nothing bounds what they cost, and a
//!   condition is no constant to it.

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Print,
    Block,
}

/// A tag of the source: `start..end` with its delimiters.
struct Tag {
    kind: Kind,
    start: usize,
    end: usize,
}

/// Of a tag, string literals aside: the parser's work grows with the square of an expression's length.
const MAX_TAG_BYTES: usize = 16 << 10;

/// Errors are sentences for the template's author.
pub fn rewrite(source: &str) -> Result<String, String> {
    let mut out = String::with_capacity(source.len());
    let mut copied = 0;
    for tag in tags(source) {
        let text = &source[tag.start..tag.end];
        if text.len() > MAX_TAG_BYTES && code_bytes(text) > MAX_TAG_BYTES {
            return Err(over_limit(source, &tag, MAX_TAG_BYTES, "bytes"));
        }
        let replaced = replacement(tag.kind, text);
        let products = with_late_products(replaced.as_deref().unwrap_or(text))
            .map_err(|limit| over_limit(source, &tag, limit, "products"))?;
        if let Some(replacement) = products.or(replaced) {
            out.push_str(&source[copied..tag.start]);
            out.push_str(&replacement);
            copied = tag.end;
        }
    }
    out.push_str(&source[copied..]);
    Ok(out)
}

fn over_limit(source: &str, tag: &Tag, limit: usize, what: &str) -> String {
    let line = source[..tag.start].matches('\n').count() + 1;
    format!("the tag in line {line} of the chat template has more than {limit} {what}")
}

fn code_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        at = if matches!(bytes[at], b'"' | b'\'') { skip_string(bytes, at) } else { at + 1 };
        count += 1;
    }
    count
}

fn replacement(kind: Kind, text: &str) -> Option<String> {
    let (left, body, right) = split_markers(text);
    match kind {
        Kind::Block => {
            let keyword = match body.trim() {
                "generation" => "if true",
                "endgeneration" => "endif",
                _ => return None,
            };
            Some(format!("{{%{left} {keyword} {right}%}}"))
        }
        Kind::Print if adds_to_markup(body) => {
            // Without a marker of its own a print tag keeps the blanks around it, a block tag does not: `+` keeps them.
            let left = if left.is_empty() { "+" } else { left };
            let right = if right.is_empty() { "+" } else { right };
            Some(format!("{{%{left} autoescape \"html\" +%}}{{{{ ({body})|safe }}}}{{%+ endautoescape {right}%}}"))
        }
        Kind::Print => None,
    }
}

/// The whitespace markers of a tag and what stands between them.
fn split_markers(text: &str) -> (&str, &str, &str) {
    let inner = &text[2..text.len() - 2];
    let is_marker = |c: u8| c == b'-' || c == b'+';
    let bytes = inner.as_bytes();
    let left = usize::from(bytes.first().is_some_and(|&c| is_marker(c)));
    let right = usize::from(bytes.len() > left && bytes.last().is_some_and(|&c| is_marker(c)));
    (&inner[..left], &inner[left..inner.len() - right], &inner[inner.len() - right..])
}

/// Of a tag, for the same reason: each makes it longer.
const MAX_PRODUCTS: usize = 100;

/// The tag with every product put off until it renders; None when it holds none. The error is the limit on them.
fn with_late_products(text: &str) -> Result<Option<String>, usize> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied, mut count) = (0, 0, 0);
    let mut after_operand = false;
    while at < bytes.len() {
        let c = bytes[at];
        match c {
            b'"' | b'\'' => {
                at = skip_string(bytes, at);
                after_operand = true;
                continue;
            }
            b'*' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2;
                after_operand = false;
                continue;
            }
            b'*' if after_operand => {
                out.push_str(&text[copied..at]);
                out.push_str("* (1 if true) *");
                copied = at + 1;
                count += 1;
                after_operand = false;
            }
            _ if c.is_ascii_whitespace() => {}
            // Splats follow a bracket or a comma, products an operand.
            _ => {
                after_operand = c == b')'
                    || c == b']'
                    || c == b'}'
                    || c == b'_'
                    || c == b'.'
                    || c.is_ascii_alphanumeric()
                    || !c.is_ascii()
            }
        }
        at += 1;
    }
    if count > MAX_PRODUCTS {
        return Err(MAX_PRODUCTS);
    }
    out.push_str(&text[copied..]);
    Ok((count > 0).then_some(out))
}

/// True when an expression holds both the filter `safe` and the operator `+`, string literals aside.
fn adds_to_markup(body: &str) -> bool {
    let bytes = body.as_bytes();
    let (mut safe, mut plus) = (false, false);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' => {
                at = skip_string(bytes, at);
                continue;
            }
            b'+' => plus = true,
            b'|' => {
                let rest = body[at + 1..].trim_start();
                safe |= rest
                    .strip_prefix("safe")
                    .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
            }
            _ => {}
        }
        at += 1;
    }
    safe && plus
}

/// The index after the string literal that begins at `at`.
fn skip_string(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            c if c == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Print and block tags in order; comments and raw blocks are passed over. Unclosed tags are left for the parser to complain about.
fn tags(source: &str) -> Vec<Tag> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = source[at..].find('{') {
        let start = at + offset;
        at = start + 1;
        match bytes.get(start + 1) {
            Some(b'#') => match source[start + 2..].find("#}") {
                Some(close) => at = start + 2 + close + 2,
                None => break,
            },
            Some(&c @ (b'%' | b'{')) => {
                let close = if c == b'%' { b"%}" } else { b"}}" };
                let Some(end) = tag_end(bytes, start + 2, close) else { break };
                let kind = if c == b'%' { Kind::Block } else { Kind::Print };
                at = end;
                if kind == Kind::Block && split_markers(&source[start..end]).1.trim() == "raw" {
                    match source[end..].find("endraw") {
                        Some(raw) => at = end + raw,
                        None => break,
                    }
                }
                found.push(Tag { kind, start, end });
            }
            _ => {}
        }
    }
    found
}

/// The index after `close`, which counts only outside string literals and braces.
fn tag_end(bytes: &[u8], start: usize, close: &[u8; 2]) -> Option<usize> {
    let mut braces = 0usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' => {
                at = skip_string(bytes, at);
                continue;
            }
            b'{' => braces += 1,
            b'}' if braces > 0 && close[0] == b'}' => braces -= 1,
            c if c == close[0] && bytes.get(at + 1) == Some(&close[1]) => return Some(at + 2),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{rewrite, MAX_TAG_BYTES};

    #[test]
    fn generation_becomes_if_and_keeps_its_markers() {
        assert_eq!(rewrite("a{%- generation -%}b{% endgeneration %}").unwrap(), "a{%- if true -%}b{% endif %}");
    }

    #[test]
    fn comments_strings_and_raw_blocks_are_left_alone() {
        for source in [
            "{# {% generation %} #}x",
            "{{ '{% generation %}' }}",
            "{% raw %}{% generation %}{% endraw %}",
            "{{ 'a|safe + b' }}",
            "{{ {'a': {'b': 1}} }}",
            "{{ unclosed",
        ] {
            assert_eq!(rewrite(source).unwrap(), source);
        }
    }

    #[test]
    fn adding_to_markup_is_wrapped() {
        assert_eq!(
            rewrite("{{- 'a'|safe + b }}").unwrap(),
            "{%- autoescape \"html\" +%}{{ ( 'a'|safe + b )|safe }}{%+ endautoescape +%}"
        );
    }

    #[test]
    fn products_wait_but_powers_splats_and_texts_are_left_alone() {
        assert_eq!(rewrite("{{ [0] * 3 }}").unwrap(), "{{ [0] * (1 if true) * 3 }}");
        assert_eq!(rewrite("{% set a = b*'*' %}").unwrap(), "{% set a = b* (1 if true) *'*' %}");
        for source in ["{{ f(*a, **b) }}", "{{ 2 ** 3 }}", "* {{ '*' }} *"] {
            assert_eq!(rewrite(source).unwrap(), source);
        }
    }

    #[test]
    fn a_tag_has_a_longest_length_but_a_text_in_it_has_not() {
        let chain = format!("{{{{ 1{} }}}}", "~1".repeat(MAX_TAG_BYTES));
        assert!(rewrite(&chain).is_err());
        let text = format!("{{{{ '{}' }}}}", "~1".repeat(MAX_TAG_BYTES));
        assert!(rewrite(&text).is_ok());
    }
}
