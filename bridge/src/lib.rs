//! Chat templates for the server, behind the C ABI of `include/takt_bridge.h`.

mod abi;
mod chat_template;
mod clock;
mod context;
mod guard;
mod instrument;
mod json;
mod meter;
mod python;
mod rewrite;
mod values;
