//! The JSON context of a rendering: parsed with its key order, guarded, with the server's own additions.

use std::collections::HashSet;

use minijinja::Value;
use serde_json::{Map, Value as Json};

use crate::clock;
use crate::guard::{may_be_placeholder, Guard};
use crate::values;

/// Appended to the last message when its text is to be continued; the prompt is cut where it comes out.
const CONTINUE_TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// Top-level strings that hold the model's own control tokens, not the caller's words: a name a line. The API refuses
/// them as template arguments by the same list.
const TOKEN_NAMES: &str = include_str!("../token_names.txt");

pub struct Context {
    root: Map<String, Json>,
    now: Option<String>,
    /// The text that the last message must show when it is continued.
    continued: Option<String>,
}

impl Context {
    /// Errors are sentences for the caller.
    pub fn parse(json: &str) -> Result<Context, String> {
        let root = match serde_json::from_str(json) {
            Ok(Json::Object(root)) => root,
            Ok(_) => return Err("the context must be a JSON object".into()),
            Err(e) => return Err(format!("the context is not valid JSON: {e}")),
        };
        let mut context = Context { root, now: None, continued: None };
        if let Some(now) = context.root.shift_remove("now") {
            match now {
                Json::String(text) => context.now = Some(text),
                Json::Null => {}
                _ => return Err("'now' must be a string".into()),
            }
        }
        Ok(context)
    }

    /// Messages' `reasoning_content` can be read as `thinking` too, the name that gpt-oss's templates use.
    pub fn alias_thinking(&mut self) {
        for message in self.messages_mut() {
            if let Json::Object(message) = message {
                if !message.contains_key("thinking") {
                    if let Some(reasoning) = message.get("reasoning_content").filter(|r| !r.is_null()).cloned() {
                        message.insert("thinking".into(), reasoning);
                    }
                }
            }
        }
    }

    /// Marks the end of the last message's text, where `cut_at_tag` will end the prompt.
    pub fn continue_final_message(&mut self) -> Result<(), String> {
        self.root.insert("add_generation_prompt".into(), Json::Bool(false));
        let content = match self.messages_mut().last_mut() {
            Some(Json::Object(message)) => message.get_mut("content"),
            _ => return Err("continue_final_message needs a last message".into()),
        };
        let text = match content {
            Some(Json::String(text)) => Some(text),
            Some(Json::Array(parts)) => parts.iter_mut().rev().find_map(|part| match part.get_mut("text") {
                Some(Json::String(text)) => Some(text),
                _ => None,
            }),
            _ => None,
        };
        let Some(text) = text else {
            return Err("continue_final_message needs text in the last message".into());
        };
        let original = text.clone();
        text.push_str(CONTINUE_TAG);
        self.continued = Some(original);
        Ok(())
    }

    fn messages_mut(&mut self) -> &mut [Json] {
        match self.root.get_mut("messages") {
            Some(Json::Array(messages)) => messages,
            _ => &mut [],
        }
    }

    /// The private-use characters that the caller's strings hold.
    pub fn private_use(&self) -> HashSet<char> {
        let mut found = HashSet::new();
        for value in self.root.values() {
            collect_private_use(value, &mut found);
        }
        found
    }

    /// What the template reads. An unreadable clock is an error.
    pub fn to_value(&self, guard: &mut Guard) -> Result<Value, String> {
        let mut pairs = Vec::with_capacity(self.root.len() + 1);
        if let Some(now) = &self.now {
            let function = clock::strftime_now(now)
                .ok_or_else(|| format!("'now' must be a time such as 2026-01-15T12:00:00, not '{now}'"))?;
            pairs.push((Value::from("strftime_now"), function));
        }
        for (key, value) in &self.root {
            let own_token = TOKEN_NAMES.lines().any(|name| name == key);
            let value = match value {
                Json::String(text) if own_token && guard.is_control_token(text) => Value::from(text.as_str()),
                value => to_value(value, key, guard)?,
            };
            pairs.push((Value::from(key.as_str()), value));
        }
        if guard.exhausted() {
            return Err("the context holds too many different control tokens and private-use characters".into());
        }
        Ok(Value::from_pairs(pairs))
    }

    /// Ends the rendered text where the continued message ends; unchanged when none is continued.
    pub fn cut_at_tag(&self, mut rendered: String, guard: &Guard) -> Result<String, String> {
        let Some(original) = &self.continued else { return Ok(rendered) };
        let is_shown = guard.restore(rendered.clone()).0.contains(original.trim());
        let at = rendered
            .rfind(CONTINUE_TAG.trim_end())
            .filter(|_| is_shown)
            .ok_or("continue_final_message is set but the template does not show the last message as it is")?;
        let whole_tag = rendered[at..].starts_with(CONTINUE_TAG);
        rendered.truncate(at);
        if !whole_tag {
            rendered.truncate(rendered.trim_end().len());
        }
        Ok(rendered)
    }
}

fn collect_private_use(value: &Json, found: &mut HashSet<char>) {
    match value {
        Json::String(text) => scan_private_use(text, found),
        Json::Array(items) => items.iter().for_each(|item| collect_private_use(item, found)),
        Json::Object(map) => {
            for (key, item) in map {
                scan_private_use(key, found);
                collect_private_use(item, found);
            }
        }
        _ => {}
    }
}

fn scan_private_use(text: &str, found: &mut HashSet<char>) {
    // Characters of planes 15 and 16 begin with these bytes in UTF-8.
    if text.bytes().any(|b| b >= 0xF3) {
        found.extend(text.chars().filter(|&c| may_be_placeholder(c)));
    }
}

// The JSON parser limits the depth (128), so recursion is bounded.
fn to_value(value: &Json, key: &str, guard: &mut Guard) -> Result<Value, String> {
    Ok(match value {
        Json::Null => Value::from(()),
        Json::Bool(b) => Value::from(*b),
        Json::Number(n) => number(n.as_str()),
        Json::String(text) => Value::from(guard.protect_value(key, text).as_deref().unwrap_or(text)),
        Json::Array(items) => {
            let items = items.iter().map(|item| to_value(item, key, guard)).collect::<Result<_, _>>()?;
            values::list(items).map_err(|e| e.to_string())?
        }
        Json::Object(map) => {
            let mut pairs = Vec::with_capacity(map.len());
            for (key, item) in map {
                let protected = guard.protect(key);
                pairs.push((Value::from(protected.as_deref().unwrap_or(key)), to_value(item, key, guard)?));
            }
            values::dict(pairs).map_err(|e| e.to_string())?
        }
    })
}

/// An integer where the text is one, else a float, as Python's json reads it.
fn number(text: &str) -> Value {
    if let Ok(n) = text.parse::<i64>() {
        return Value::from(n);
    }
    if !text.contains(['.', 'e', 'E']) {
        if let Ok(n) = text.parse::<i128>() {
            return Value::from(n);
        }
    }
    Value::from(text.parse::<f64>().unwrap_or(f64::NAN))
}
