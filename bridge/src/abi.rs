//! The C ABI. Ownership and meaning: `include/takt_bridge.h`.

use std::ops::Range;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::ptr;
use std::slice;
use std::str;
use std::sync::Once;

use crate::chat_template::{ChatTemplate, Failure, Fuel, Limits, Options, Prompt};
use crate::meter::words_of;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct View {
    data: *const u8,
    size: usize,
}

#[repr(C)]
pub struct Text {
    data: *mut u8,
    size: usize,
}

#[repr(C)]
pub struct TextRange {
    begin: usize,
    end: usize,
}

#[repr(C)]
pub struct CLimits {
    template_bytes: usize,
    context_bytes: usize,
    output_bytes: usize,
    fuel_base: u64,
    fuel_per_byte: u64,
    fuel_most: u64,
}

#[repr(C)]
pub struct COptions {
    continue_final_message: u8,
    alias_thinking: u8,
}

#[repr(C)]
pub struct CPrompt {
    text: Text,
    untrusted: *mut TextRange,
    untrusted_count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub enum Status {
    Ok = 0,
    Input = 1,
    Raised = 2,
    Render = 3,
    Limit = 4,
    Panic = 5,
}

impl View {
    /// # Safety
    /// `data` points to `size` readable bytes that live as long as 'a, or `size` is 0.
    unsafe fn text<'a>(self, what: &str) -> Result<&'a str, Failure> {
        if self.size == 0 {
            return Ok("");
        }
        // SAFETY: the caller's contract.
        let bytes = unsafe { slice::from_raw_parts(self.data, self.size) };
        str::from_utf8(bytes).map_err(|_| Failure::Input(format!("{what} is not valid UTF-8")))
    }
}

fn give_text(text: String) -> Text {
    let bytes = text.into_bytes().into_boxed_slice();
    let size = bytes.len();
    if size == 0 {
        return Text { data: ptr::null_mut(), size };
    }
    Text { data: Box::into_raw(bytes).cast(), size }
}

fn give_ranges(ranges: Vec<Range<usize>>) -> (*mut TextRange, usize) {
    let ranges: Box<[TextRange]> = ranges.into_iter().map(|r| TextRange { begin: r.start, end: r.end }).collect();
    let count = ranges.len();
    if count == 0 {
        return (ptr::null_mut(), 0);
    }
    (Box::into_raw(ranges).cast(), count)
}

/// Runs `work`, which must not leave anything half done behind; errors and panics become a status and a text.
///
/// # Safety
/// `error` may be written.
unsafe fn guarded(error: *mut Text, work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // A panic's words are the caller's to tell: standard error is the server's log.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| set_hook(Box::new(|_| {})));
    let (status, message) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(Failure::Input(message))) => (Status::Input, message),
        Ok(Err(Failure::Raised(message))) => (Status::Raised, message),
        Ok(Err(Failure::Render(message))) => (Status::Render, message),
        Ok(Err(Failure::Limit(message))) => (Status::Limit, message),
        Err(panic) => (Status::Panic, format!("the template engine failed unexpectedly: {}", words_of(panic.as_ref()))),
    };
    // SAFETY: the caller's contract.
    unsafe { error.write(give_text(message)) };
    status
}

/// # Safety
/// As the header says: views are readable, `control_tokens` has `control_token_count` elements, `out` and `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn takt_bridge_template_compile(
    source: View,
    control_tokens: *const View,
    control_token_count: usize,
    limits: CLimits,
    out: *mut *mut ChatTemplate,
    error: *mut Text,
) -> Status {
    let work = || {
        let views: &[View] = match control_token_count {
            0 => &[],
            // SAFETY: the caller's contract.
            count => unsafe { slice::from_raw_parts(control_tokens, count) },
        };
        let mut tokens = Vec::with_capacity(views.len());
        for view in views {
            // SAFETY: the caller's contract.
            tokens.push(unsafe { view.text("a control token") }?.to_owned());
        }
        let limits = Limits {
            template_bytes: limits.template_bytes,
            context_bytes: limits.context_bytes,
            output_bytes: limits.output_bytes,
            fuel: Fuel { base: limits.fuel_base, per_byte: limits.fuel_per_byte, most: limits.fuel_most },
        };
        // SAFETY: the caller's contract.
        let compiled = ChatTemplate::compile(unsafe { source.text("the chat template") }?, tokens, limits)?;
        // SAFETY: the caller's contract.
        unsafe { out.write(Box::into_raw(Box::new(compiled))) };
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { guarded(error, work) }
}

/// # Safety
/// `compiled` comes from `takt_bridge_template_compile` and is not freed during the call; `out` and `error` may be written.
#[no_mangle]
pub unsafe extern "C" fn takt_bridge_template_render(
    compiled: *const ChatTemplate,
    context: View,
    options: COptions,
    out: *mut CPrompt,
    error: *mut Text,
) -> Status {
    let work = || {
        let options = Options {
            continue_final_message: options.continue_final_message != 0,
            alias_thinking: options.alias_thinking != 0,
        };
        // SAFETY: the caller's contract.
        let compiled = unsafe { compiled.as_ref() }.ok_or_else(|| Failure::Input("no template".into()))?;
        // SAFETY: the caller's contract.
        let Prompt { text, untrusted } = compiled.render(unsafe { context.text("the context") }?, &options)?;
        let (untrusted, untrusted_count) = give_ranges(untrusted);
        // SAFETY: the caller's contract.
        unsafe { out.write(CPrompt { text: give_text(text), untrusted, untrusted_count }) };
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { guarded(error, work) }
}

/// # Safety
/// `compiled` comes from `takt_bridge_template_compile` and was not freed, or is null.
#[no_mangle]
pub unsafe extern "C" fn takt_bridge_template_free(compiled: *mut ChatTemplate) {
    if !compiled.is_null() {
        // SAFETY: made by Box::into_raw in takt_bridge_template_compile.
        let compiled = unsafe { Box::from_raw(compiled) };
        let _ = catch_unwind(AssertUnwindSafe(move || drop(compiled)));
    }
}

/// # Safety
/// `prompt` comes from `takt_bridge_template_render` and was not freed.
#[no_mangle]
pub unsafe extern "C" fn takt_bridge_prompt_free(prompt: CPrompt) {
    // SAFETY: the text was made by give_text.
    unsafe { takt_bridge_text_free(prompt.text) };
    if !prompt.untrusted.is_null() {
        // SAFETY: made by give_ranges with this length.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(prompt.untrusted, prompt.untrusted_count)) });
    }
}

/// # Safety
/// `text` comes from this library and was not freed.
#[no_mangle]
pub unsafe extern "C" fn takt_bridge_text_free(text: Text) {
    if !text.data.is_null() {
        // SAFETY: made by give_text with this length.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(text.data, text.size)) });
    }
}
