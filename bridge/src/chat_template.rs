//! One compiled chat template: minijinja set up as Hugging Face sets up Jinja2.

use std::collections::{BTreeMap, HashSet};
use std::error::Error as _;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use minijinja::machinery::{self, CompiledTemplate, Instructions, TemplateConfig};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::context::Context;
use crate::guard::{may_be_placeholder, ControlTokens, Guard};
use crate::meter::{self, Stop};
use crate::{instrument, json, python, rewrite, values};

const NAME: &str = "chat_template";

/// The last resort, where an instruction takes longer than the steps that it counts as.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Values are at most 200 levels deep, macros at most 500 frames.
const STACK_BASE: usize = 8 << 20;
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

struct Code<'s>(Instructions<'s>);

self_cell::self_cell!(
    /// The source as rendered, and what was compiled from it.
    struct Program {
        owner: String,
        #[covariant]
        dependent: Code,
    }
);

pub struct ChatTemplate {
    environment: Environment<'static>,
    program: Program,
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
        let stack = STACK_BASE + STACK_PER_SOURCE_BYTE * source_as_rendered.len();
        let program = on_deep_stack(stack, || Program::try_new(source_as_rendered, |source| compile(source)))?;
        Ok(ChatTemplate {
            environment: environment(),
            program,
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
        let fuel = self.limits.fuel.of_context(context_json.len());
        on_deep_stack(STACK_BASE, || self.render_with(context_json, options, fuel))
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
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(fuel));
        let Code(code) = self.program.borrow_dependent();
        let mut text = String::new();
        let result = meter::metered(fuel, MAX_TIME, || {
            let mut out = machinery::make_string_output(&mut text);
            machinery::eval(&environment, code, root, &BTreeMap::new(), &mut out, AutoEscape::None).map(drop)
        });
        match result {
            Ok(result) => result.map_err(|e| failure(&e, fuel))?,
            Err(Stop::Steps) => return Err(too_many_steps(fuel)),
            Err(Stop::Time) => {
                let message =
                    format!("the chat template takes longer than the limit of {} seconds", MAX_TIME.as_secs());
                return Err(Failure::Limit(message));
            }
            Err(Stop::Panic(words)) => return Err(Failure::Render(format!("the engine failed: {words}"))),
        }
        if text.len() > self.limits.output_bytes {
            return Err(Failure::Limit(format!(
                "the rendered prompt is longer than the limit of {} bytes",
                self.limits.output_bytes
            )));
        }
        Ok(text)
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

fn compile(source: &str) -> Result<Code<'_>, Failure> {
    let syntax_config = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(|e| Failure::Input(describe(&e)))?;
    let config = TemplateConfig { syntax_config, default_auto_escape: Arc::new(|_| AutoEscape::None) };
    let compiled = CompiledTemplate::new(NAME, source, &config).map_err(|e| Failure::Input(describe(&e)))?;
    instrument::instrument(&compiled.instructions).map(Code).map_err(Failure::Limit)
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(python::format_value);
    environment.set_unknown_method_callback(python::method);
    environment.add_filter("d", python::default);
    environment.add_filter("default", python::default);
    environment.add_filter("float", python::float);
    environment.add_filter("format", python::format);
    environment.add_filter("indent", python::indent);
    environment.add_filter("int", python::int);
    environment.add_filter("join", python::join);
    environment.add_filter("string", python::string);
    environment.add_filter("sum", python::sum);
    environment.add_filter("tojson", json::tojson);
    environment.add_filter("trim", python::trim);
    environment.add_filter(instrument::OWN, values::own);
    environment.add_filter(instrument::OWN_PART, values::own_part);
    environment.add_filter(instrument::DICT, values::dict_of);
    environment.add_test("iterable", python::is_iterable);
    environment.add_test("sequence", python::is_sequence);
    environment.add_function("namespace", python::namespace);
    // It prints everything there is, uncounted.
    environment.remove_global("debug");
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(Raised(message)))
    });
    environment
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
        return too_many_steps(fuel);
    }
    Failure::Render(describe(error))
}

fn too_many_steps(fuel: u64) -> Failure {
    Failure::Limit(format!("the chat template takes more than {fuel} steps, the limit for this conversation"))
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
