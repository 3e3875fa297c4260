//! What a rendering may still spend outside the engine's own count.
//!
//! The engine counts its instructions and the bytes and slots that they make. It does not count what a comparison, a hash, a printing or a lazy
//! list walks inside one instruction, and most of those have no way to fail. So the values themselves count (`values.rs`), on the thread that
//! renders, and where the budget ends the rendering is unwound to `metered`.

use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// A unit is about the cost of one item visited; the engine's step is dearer.
pub const UNITS_PER_STEP: u64 = 8;

/// The engine's own price of a place in a list.
pub const UNITS_PER_SLOT: u64 = 4;

/// The engine's own price of serialising: a step for four bytes.
const UNITS_PER_PRINTED_BYTE: u64 = 2;

/// The clock is read once in so many spendings.
const SPENDINGS_PER_LOOK: u32 = 256;

/// Why a rendering was stopped.
#[derive(Debug, PartialEq)]
pub enum Stop {
    Steps,
    Time,
    /// A fault of the engine, in its words.
    Panic(String),
}

struct Unwinding;

struct Meter {
    active: Cell<bool>,
    units: Cell<u64>,
    deadline: Cell<Option<Instant>>,
    until_look: Cell<u32>,
    out_of_steps: Cell<bool>,
    out_of_time: Cell<bool>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            active: Cell::new(false),
            units: Cell::new(0),
            deadline: Cell::new(None),
            until_look: Cell::new(0),
            out_of_steps: Cell::new(false),
            out_of_time: Cell::new(false),
        }
    };
}

/// Runs `work`, which must not leave anything half done behind, under a budget of its own.
pub fn metered<T>(steps: u64, time: Duration, work: impl FnOnce() -> T) -> Result<T, Stop> {
    METER.with(|meter| {
        meter.units.set(steps.saturating_mul(UNITS_PER_STEP));
        meter.deadline.set(Instant::now().checked_add(time));
        meter.until_look.set(SPENDINGS_PER_LOOK);
        meter.out_of_steps.set(false);
        meter.out_of_time.set(false);
        meter.active.set(true);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        meter.active.set(false);
        // The engine catches panics while it sorts, so a value may come back although the budget has ended.
        if meter.out_of_time.get() {
            return Err(Stop::Time);
        }
        if meter.out_of_steps.get() {
            return Err(Stop::Steps);
        }
        outcome.map_err(|panic| Stop::Panic(words_of(panic.as_ref())))
    })
}

/// Pays; unwinds to `metered` when the budget or the time has ended. Free outside of a rendering.
pub fn spend(units: u64) {
    METER.with(|meter| {
        if !meter.active.get() || std::thread::panicking() {
            return;
        }
        match meter.units.get().checked_sub(units) {
            Some(left) => meter.units.set(left),
            None => {
                meter.units.set(0);
                meter.out_of_steps.set(true);
                resume_unwind(Box::new(Unwinding));
            }
        }
        match meter.until_look.get() {
            0 => {
                meter.until_look.set(SPENDINGS_PER_LOOK);
                if meter.deadline.get().is_some_and(|deadline| Instant::now() > deadline) {
                    meter.out_of_time.set(true);
                    resume_unwind(Box::new(Unwinding));
                }
            }
            left => meter.until_look.set(left - 1),
        }
    });
}

/// Pays for text that is written out of values.
pub fn spend_printed(bytes: usize) {
    spend(1 + (bytes as u64).saturating_mul(UNITS_PER_PRINTED_BYTE));
}

/// Pays for text that is copied, at the engine's own price: a step for 64 bytes.
pub fn spend_copied(bytes: usize) {
    spend(1 + bytes as u64 / 8);
}

/// What a panic says.
pub fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".into())
}

#[cfg(test)]
mod tests {
    use super::{metered, spend, Stop, UNITS_PER_STEP};
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn spending_ends_with_the_budget_and_is_free_outside() {
        assert_eq!(metered(2, LONG, || spend(2 * UNITS_PER_STEP)), Ok(()));
        assert_eq!(metered(2, LONG, || spend(2 * UNITS_PER_STEP + 1)), Err(Stop::Steps));
        spend(u64::MAX);
    }

    #[test]
    fn time_ends_too() {
        let endless = || loop {
            spend(0);
        };
        assert_eq!(metered::<()>(1, Duration::ZERO, endless), Err(Stop::Time));
    }

    #[test]
    fn an_end_that_something_else_catches_still_counts() {
        let caught = || std::panic::catch_unwind(|| spend(u64::MAX)).is_err();
        assert_eq!(metered(1, LONG, caught), Err(Stop::Steps));
    }

    #[test]
    fn a_panic_comes_back_in_its_words() {
        assert_eq!(metered(1, LONG, || assert!(false, "a fault")), Err(Stop::Panic("a fault".into())));
    }
}
