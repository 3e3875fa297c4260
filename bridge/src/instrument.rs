//! Puts `values::own` where a template's instructions make containers, so that everything a template keeps is metered.
//!
//! The engine's operators are lazy (`a + b`, `a * 3`, `a[1:]`, `d.items()` copy nothing) and its literals uncounted; neither can be replaced through
//! its stable interface. So the compiled instructions are copied with a filter after each that gives a container, and jumps follow.

use minijinja::machinery::{Instruction, Instructions};
use minijinja::Value;

use crate::values::own;

/// Names of the filters; no template can write them.
pub const OWN: &str = "takt-own";
pub const OWN_PART: &str = "takt-own-part";
pub const DICT: &str = "takt-dict";

/// The engine's cache of filters has so many places, and none has this number.
const CACHED_FILTERS: u8 = 50;
const NOT_CACHED: u8 = u8::MAX;

/// Errors are sentences for the template's author.
pub fn instrument<'s>(code: &Instructions<'s>) -> Result<Instructions<'s>, String> {
    let instructions: Vec<&Instruction<'s>> = (0..).map_while(|at| code.get(at)).collect();
    let filters = Filters::beside(&instructions);
    let mut place = 0u32;
    let mut places = Vec::with_capacity(instructions.len() + 1);
    for instruction in &instructions {
        places.push(place);
        place += match instruction {
            Instruction::SetAttr(_) => 4,
            instruction if gives_container(instruction) => 2,
            _ => 1,
        };
    }
    places.push(place);
    let moved = |target: u32| places.get(target as usize).copied().unwrap_or(target);

    let mut out = Instructions::new(code.name(), code.source());
    for (at, &instruction) in (0..).zip(&instructions) {
        let line = code.get_line(at).and_then(|line| u16::try_from(line).ok()).unwrap_or(0);
        let mut add = |instruction| out.add_with_line(instruction, line);
        if let Instruction::SetAttr(_) = instruction {
            // The value lies under the namespace.
            add(Instruction::Swap);
            add(filters.apply(OWN_PART));
            add(Instruction::Swap);
        }
        add(match instruction {
            Instruction::Jump(to) => Instruction::Jump(moved(*to)),
            Instruction::JumpIfFalse(to) => Instruction::JumpIfFalse(moved(*to)),
            Instruction::JumpIfFalseOrPop(to) => Instruction::JumpIfFalseOrPop(moved(*to)),
            Instruction::JumpIfTrueOrPop(to) => Instruction::JumpIfTrueOrPop(moved(*to)),
            Instruction::Iterate(to) => Instruction::Iterate(moved(*to)),
            Instruction::BuildMacro(name, at, flags) => Instruction::BuildMacro(name, moved(*at), *flags),
            Instruction::BuildMap(pairs) => {
                let parts = u16::try_from(pairs * 2).map_err(|_| "a dictionary of the chat template is too long")?;
                Instruction::ApplyFilter(DICT, Some(parts), filters.dict)
            }
            Instruction::LoadConst(value) if is_constant_container(value) => {
                Instruction::LoadConst(own(value.clone()).map_err(|e| e.to_string())?)
            }
            other => other.clone(),
        });
        if gives_container(instruction) {
            add(filters.apply(OWN));
        }
    }
    Ok(out)
}

/// An item of a loop too: a loop over what the engine made for it alone gives parts that were never owned, and time is looked at in each turn.
fn gives_container(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::BuildList(_)
            | Instruction::BuildTuple(_)
            | Instruction::Slice
            | Instruction::Add
            | Instruction::Mul
            | Instruction::ApplyFilter(..)
            | Instruction::CallFunction(..)
            | Instruction::CallMethod(..)
            | Instruction::CallObject(_)
            | Instruction::Iterate(_)
    )
}

fn is_constant_container(value: &Value) -> bool {
    value.as_object().is_some() && !value.is_kwargs()
}

/// Places in the engine's cache that the template's own filters leave.
struct Filters {
    own: u8,
    own_part: u8,
    dict: u8,
}

impl Filters {
    fn beside(instructions: &[&Instruction]) -> Filters {
        let used = instructions.iter().filter_map(|instruction| match instruction {
            Instruction::ApplyFilter(_, _, place) if *place != NOT_CACHED => Some(place + 1),
            _ => None,
        });
        let first = used.max().unwrap_or(0);
        let place = |at: u8| if first + at < CACHED_FILTERS { first + at } else { NOT_CACHED };
        Filters { own: place(0), own_part: place(1), dict: place(2) }
    }

    fn apply<'s>(&self, name: &'static str) -> Instruction<'s> {
        Instruction::ApplyFilter(name, Some(1), if name == OWN { self.own } else { self.own_part })
    }
}
