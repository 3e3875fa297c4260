//! One compiled chat template: minijinja set up as Hugging Face sets up Jinja2.

use std::collections::HashSet;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::ops::Range;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::context::Context;
use crate::guard::{may_be_placeholder, ControlTokens, Guard};
use crate::{json, python, rewrite};

const NAME: &str = "chat_template";

const STACK_BASE: usize = 8 << 20;
/// Measured: up to 70 bytes.
const STACK_PER_FUEL: usize = 128;
/// Measured: up to 400 bytes.
const STACK_PER_SOURCE_BYTE: usize = 1024;

pub struct Limits {
    pub template_bytes: usize,
    pub context_bytes: usize,
    pub output_bytes: usize,
    pub fuel: Fuel,
}

/// Steps that a rendering may take: `base`, and `per_byte` for every byte of the context, at most `most`.
pub struct Fuel {
    pub base: u64,
    pub per_byte: u64,
    pub most: u64,
}

impl Fuel {
    fn of_context(&self, bytes: usize) -> u64 {
        self.base.saturating_add(self.per_byte.saturating_mul(bytes as u64)).min(self.most)
    }
}

pub struct Options {
    pub continue_final_message: bool,
    pub alias_thinking: bool,
}

pub struct Prompt {
    pub text: String,
    pub untrusted: Vec<Range<usize>>,
}

#[derive(Debug)]
pub enum Failure {
    /// The template or the context can't be read.
    Input(String),
    /// The template's own words, by `raise_exception`.
    Raised(String),
    /// The engine's words.
    Render(String),
    /// A limit is reached.
    Limit(String),
}

pub struct ChatTemplate {
    environment: Environment<'static>,
    control_tokens: ControlTokens,
    private_use: HashSet<char>,
    limits: Limits,
}

impl ChatTemplate {
    pub fn compile(source: &str, control_tokens: Vec<String>, limits: Limits) -> Result<ChatTemplate, Failure> {
        if source.len() > limits.template_bytes {
            return Err(Failure::Limit(format!(
                "the chat template has {} bytes, more than the limit of {}",
                source.len(),
                limits.template_bytes
            )));
        }
        let source_as_rendered = rewrite::rewrite(source).map_err(Failure::Limit)?;
        // Long chains of operators nest the syntax tree as deep as they are long.
        let environment = on_deep_stack(STACK_BASE + STACK_PER_SOURCE_BYTE * source.len(), || {
            let mut environment = environment()?;
            environment.add_template_owned(NAME, source_as_rendered).map_err(|e| Failure::Input(describe(&e)))?;
            Ok(environment)
        })?;
        Ok(ChatTemplate {
            environment,
            control_tokens: ControlTokens::new(control_tokens).map_err(Failure::Input)?,
            private_use: source.chars().filter(|&c| may_be_placeholder(c)).collect(),
            limits,
        })
    }

    pub fn render(&self, context_json: &str, options: &Options) -> Result<Prompt, Failure> {
        if context_json.len() > self.limits.context_bytes {
            return Err(Failure::Limit(format!(
                "the conversation has {} bytes, more than the limit of {}",
                context_json.len(),
                self.limits.context_bytes
            )));
        }
        // Each step may nest values one level deeper, and printing, comparing or dropping them takes stack for each level.
        let fuel = self.limits.fuel.of_context(context_json.len());
        let stack = STACK_BASE + STACK_PER_FUEL * usize::try_from(fuel).unwrap_or(0);
        on_deep_stack(stack, || self.render_with(context_json, options, fuel))
    }

    fn render_with(&self, context_json: &str, options: &Options, fuel: u64) -> Result<Prompt, Failure> {
        let mut context = Context::parse(context_json).map_err(Failure::Input)?;
        if options.alias_thinking {
            context.alias_thinking();
        }
        if options.continue_final_message {
            context.continue_final_message().map_err(Failure::Input)?;
        }
        let mut taken = context.private_use();
        taken.extend(&self.private_use);
        let mut guard = Guard::new(&self.control_tokens, taken);
        let root = context.to_value(&mut guard).map_err(Failure::Input)?;
        let rendered = self.render_value(root, fuel)?;
        let rendered = context.cut_at_tag(rendered, &guard).map_err(Failure::Render)?;
        let (text, untrusted) = guard.restore(rendered);
        Ok(Prompt { text, untrusted })
    }

    fn render_value(&self, root: Value, fuel: u64) -> Result<String, Failure> {
        let mut out = BoundedWriter { bytes: Vec::new(), limit: self.limits.output_bytes, overflown: false };
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(fuel));
        let template = environment.get_template(NAME).map_err(|e| Failure::Render(describe(&e)))?;
        let result = template.render_captured_to(root, &mut out).map(drop);
        if out.overflown {
            return Err(Failure::Limit(format!(
                "the rendered prompt is longer than the limit of {} bytes",
                self.limits.output_bytes
            )));
        }
        result.map_err(|e| failure(&e, fuel))?;
        String::from_utf8(out.bytes).map_err(|_| Failure::Render("the rendered prompt is not UTF-8".into()))
    }
}

/// Runs `work` in a thread of its own with that much stack, reserved but not touched. A panic goes on in the caller.
fn on_deep_stack<T: Send>(stack: usize, work: impl FnOnce() -> T + Send) -> T {
    let mut work = Some(work);
    let result = std::thread::scope(|scope| {
        let taken = &mut work;
        std::thread::Builder::new()
            .name("chat-template".into())
            .stack_size(stack)
            .spawn_scoped(scope, move || taken.take().map(|work| work()))
            .ok()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    match (result.flatten(), work) {
        (Some(result), _) => result,
        // No thread is to be had (a limit of the system): the caller's own stack is enough for ordinary templates.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("the work ran and gave nothing"),
    }
}

fn environment() -> Result<Environment<'static>, Failure> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(|e| Failure::Input(describe(&e)))?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(python::format_value);
    environment.set_unknown_method_callback(python::method);
    environment.add_filter("d", python::default);
    environment.add_filter("default", python::default);
    environment.add_filter("float", python::float);
    environment.add_filter("indent", python::indent);
    environment.add_filter("int", python::int);
    environment.add_filter("join", python::join);
    environment.add_filter("string", python::string);
    environment.add_filter("tojson", json::tojson);
    environment.add_filter("trim", python::trim);
    environment.add_test("iterable", python::is_iterable);
    environment.add_test("sequence", python::is_sequence);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(Raised(message)))
    });
    Ok(environment)
}

/// The template refuses the conversation.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

fn failure(error: &Error, fuel: u64) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut out_of_fuel = false;
    while let Some(current) = cause {
        if let Some(raised) = current.downcast_ref::<Raised>() {
            return Failure::Raised(raised.0.clone());
        }
        out_of_fuel |= current.downcast_ref::<Error>().is_some_and(|e| e.kind() == ErrorKind::OutOfFuel);
        cause = current.source();
    }
    if out_of_fuel {
        return Failure::Limit(format!(
            "the chat template takes more than {fuel} steps, the limit for this conversation"
        ));
    }
    Failure::Render(describe(error))
}

/// The innermost cause with its place: what a person needs to find the fault in the template.
fn describe(error: &Error) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source().and_then(|e| e.downcast_ref::<Error>()) {
        innermost = inner;
    }
    let what = innermost.detail().map_or_else(|| innermost.kind().to_string(), str::to_owned);
    match innermost.line().or(error.line()) {
        Some(line) => format!("{what} (line {line} of the chat template)"),
        None => what,
    }
}

struct BoundedWriter {
    bytes: Vec<u8>,
    limit: usize,
    overflown: bool,
}

impl io::Write for BoundedWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.limit - self.bytes.len() {
            self.overflown = true;
            return Err(io::Error::new(io::ErrorKind::Other, "output limit"));
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
