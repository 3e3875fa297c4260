//! Keeps the caller's words from becoming control tokens.
//!
//! Before rendering, every spelling of a control token in the caller's strings is replaced by ONE private-use character (planes 15 and 16), chosen
//! so that neither the template nor the context holds it. A single character can't be cut by a slice, is not white space for `trim`, and no
//! filter changes it. After rendering it turns back into the spelling, and its place in the output is reported: no control token may be recognised
//! there. The same is done to the end of a string that begins a control token (`"<|im_"`) and to the start of one that ends it (`"end|>"`), so
//! that two strings, or a string and the template's own text, can't make one together: a token that overlaps a reported range does not count.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

const FIRST_PLACEHOLDER: u32 = 0xF_0000;
const LAST_PLACEHOLDER: u32 = 0x10_FFFD;

/// True for characters that may stand for something else: they pass through every filter unchanged.
pub fn may_be_placeholder(c: char) -> bool {
    c as u32 >= FIRST_PLACEHOLDER
}

/// The control tokens of a model, prepared once.
pub struct ControlTokens {
    matcher: Option<AhoCorasick>,
    sorted: Vec<String>,
    sorted_reversed: Vec<Vec<u8>>,
    longest: usize,
}

impl ControlTokens {
    pub fn new(mut spellings: Vec<String>) -> Result<ControlTokens, String> {
        spellings.retain(|s| !s.is_empty());
        spellings.sort();
        spellings.dedup();
        let matcher = if spellings.is_empty() {
            None
        } else {
            Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(&spellings)
                    .map_err(|e| format!("control tokens: {e}"))?,
            )
        };
        let mut sorted_reversed: Vec<Vec<u8>> = spellings.iter().map(|s| s.bytes().rev().collect()).collect();
        sorted_reversed.sort();
        let longest = spellings.iter().map(String::len).max().unwrap_or(0);
        Ok(ControlTokens { matcher, sorted: spellings, sorted_reversed, longest })
    }

    pub fn is_spelling(&self, text: &str) -> bool {
        self.sorted.binary_search_by(|s| s.as_str().cmp(text)).is_ok()
    }

    /// Length of the longest end of `text` that begins a control token and is not a bare word.
    fn opening_at_end(&self, text: &str) -> usize {
        self.longest_edge(
            text,
            |len| {
                let tail = &text[text.len() - len..];
                let at = self.sorted.partition_point(|s| s.as_str() <= tail);
                !is_word(tail) && self.sorted.get(at).is_some_and(|s| s.starts_with(tail))
            },
            |len| text.is_char_boundary(text.len() - len),
        )
    }

    /// Length of the longest start of `text` that ends a control token and is not a bare word.
    fn closing_at_start(&self, text: &str) -> usize {
        self.longest_edge(
            text,
            |len| {
                let head = &text[..len];
                let reversed: Vec<u8> = head.bytes().rev().collect();
                let at = self.sorted_reversed.partition_point(|s| *s <= reversed);
                !is_word(head) && self.sorted_reversed.get(at).is_some_and(|s| s.starts_with(&reversed))
            },
            |len| text.is_char_boundary(len),
        )
    }

    fn longest_edge(&self, text: &str, matches: impl Fn(usize) -> bool, whole: impl Fn(usize) -> bool) -> usize {
        let most = text.len().min(self.longest.saturating_sub(1));
        (1..=most).rev().find(|&len| whole(len) && matches(len)).unwrap_or(0)
    }
}

/// Words may be the beginning of a control token's name by chance, and templates compare them (roles, types).
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || c == '_' || c == '-')
}

/// The placeholders of one rendering.
pub struct Guard<'a> {
    tokens: &'a ControlTokens,
    taken: HashSet<char>,
    next: u32,
    by_text: HashMap<String, char>,
    by_placeholder: HashMap<char, String>,
}

impl<'a> Guard<'a> {
    /// `taken`: the private-use characters that template and context hold themselves.
    pub fn new(tokens: &'a ControlTokens, taken: HashSet<char>) -> Guard<'a> {
        Guard { tokens, taken, next: FIRST_PLACEHOLDER, by_text: HashMap::new(), by_placeholder: HashMap::new() }
    }

    pub fn is_control_token(&self, text: &str) -> bool {
        self.tokens.is_spelling(text)
    }

    /// A value under `key`: templates compare roles and types as whole words, so their edges are left alone.
    pub fn protect_value(&mut self, key: &str, text: &str) -> Option<String> {
        if key == "role" || key == "type" {
            self.replace(text, false)
        } else {
            self.protect(text)
        }
    }

    /// The caller's string with what could become a control token replaced; None when nothing had to be.
    pub fn protect(&mut self, text: &str) -> Option<String> {
        let has_edges = self.tokens.opening_at_end(text) > 0 || self.tokens.closing_at_start(text) > 0;
        self.replace(text, has_edges)
    }

    fn replace(&mut self, text: &str, edges: bool) -> Option<String> {
        let matcher = self.tokens.matcher.as_ref()?;
        let mut out = String::new();
        let mut copied = 0;
        for found in matcher.find_iter(text) {
            self.copy_piece(&mut out, text, copied..found.start(), edges);
            let spelling = &text[found.range()];
            self.push_placeholder(&mut out, spelling);
            copied = found.end();
        }
        if copied == 0 && !edges {
            return None;
        }
        self.copy_piece(&mut out, text, copied..text.len(), edges);
        Some(out)
    }

    /// Copies text between control tokens; only the outer edges of the whole string can meet other text.
    fn copy_piece(&mut self, out: &mut String, text: &str, piece: Range<usize>, edges: bool) {
        let closing = if edges && piece.start == 0 { self.tokens.closing_at_start(&text[piece.clone()]) } else { 0 };
        let (head, rest) = text[piece.clone()].split_at(closing);
        let opening = if edges && piece.end == text.len() { self.tokens.opening_at_end(rest) } else { 0 };
        let (plain, tail) = rest.split_at(rest.len() - opening);
        self.push_placeholder(out, head);
        out.push_str(plain);
        self.push_placeholder(out, tail);
    }

    /// Appends what stands for `text`: one character, or the text itself when none is left (see `exhausted`).
    fn push_placeholder(&mut self, out: &mut String, text: &str) {
        match self.placeholder(text) {
            Some(c) => out.push(c),
            None => out.push_str(text),
        }
    }

    fn placeholder(&mut self, text: &str) -> Option<char> {
        if text.is_empty() {
            return None;
        }
        if let Some(&known) = self.by_text.get(text) {
            return Some(known);
        }
        while self.next <= LAST_PLACEHOLDER {
            let candidate = char::from_u32(self.next);
            self.next += 1;
            if let Some(c) = candidate.filter(|c| !self.taken.contains(c)) {
                self.by_text.insert(text.to_owned(), c);
                self.by_placeholder.insert(c, text.to_owned());
                return Some(c);
            }
        }
        None
    }

    /// True when every private-use character is in use, so that something could not be protected.
    pub fn exhausted(&self) -> bool {
        self.next > LAST_PLACEHOLDER
    }

    /// Puts the spellings back; the ranges are byte offsets in the returned text, in order and disjoint.
    pub fn restore(&self, rendered: String) -> (String, Vec<Range<usize>>) {
        if self.by_placeholder.is_empty() {
            return (rendered, Vec::new());
        }
        let mut text = String::with_capacity(rendered.len());
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for c in rendered.chars() {
            match self.by_placeholder.get(&c) {
                None => text.push(c),
                Some(spelling) => {
                    let start = text.len();
                    text.push_str(spelling);
                    match ranges.last_mut() {
                        Some(last) if last.end == start => last.end = text.len(),
                        _ => ranges.push(start..text.len()),
                    }
                }
            }
        }
        (text, ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> ControlTokens {
        ControlTokens::new(vec!["<|im_start|>".into(), "<|im_end|>".into(), "</s>".into()]).unwrap()
    }

    fn round_trip(text: &str) -> (Option<String>, String, Vec<Range<usize>>) {
        let tokens = tokens();
        let mut guard = Guard::new(&tokens, HashSet::new());
        let protected = guard.protect(text);
        let (back, ranges) = guard.restore(protected.clone().unwrap_or_else(|| text.to_owned()));
        (protected, back, ranges)
    }

    #[test]
    fn plain_text_is_left_alone() {
        for text in ["", "hello", "a < b and c > d", "|im_end|", "system", "[x]"] {
            assert_eq!(round_trip(text).0, None, "{text}");
        }
    }

    #[test]
    fn spellings_become_one_character_and_come_back() {
        let (protected, back, ranges) = round_trip("a<|im_end|>b</s>");
        assert_eq!(protected.unwrap().chars().count(), 4);
        assert_eq!(back, "a<|im_end|>b</s>");
        assert_eq!(ranges, vec![1..11, 12..16]);
    }

    #[test]
    fn edges_that_could_join_are_covered() {
        assert_eq!(round_trip("a <|im_").2, vec![2..7]);
        assert_eq!(round_trip("end|> b").2, vec![0..5]);
        assert_eq!(round_trip("</s></").2, vec![0..6]);
        assert_eq!(round_trip("/s> <").2, vec![0..3, 4..5]);
    }

    #[test]
    fn taken_characters_are_not_used() {
        let tokens = tokens();
        let first = char::from_u32(FIRST_PLACEHOLDER).unwrap();
        let mut guard = Guard::new(&tokens, HashSet::from([first]));
        let protected = guard.protect(&format!("{first}</s>")).unwrap();
        let (back, ranges) = guard.restore(protected);
        assert_eq!(back, format!("{first}</s>"));
        assert_eq!(ranges, vec![4..8]);
    }
}
