//! The lists and dictionaries of a rendering.
//!
//! Every container that a template can keep is one of these: flat (nothing lazy), immutable, at most `MAX_DEPTH` deep, and metered: whoever walks,
//! compares, hashes or prints one pays for each item. So a value that shares its parts can't cost more than the rendering may spend, and since no
//! container holds a namespace, none holds itself. `own` makes them out of what the engine's literals, operators, filters and functions give.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Rest, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use crate::meter::{spend, UNITS_PER_SLOT};
use crate::python;

/// Of values; deeper ones can't be kept.
pub const MAX_DEPTH: usize = 200;

pub fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("a value is nested deeper than {MAX_DEPTH} levels"))
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    List,
    Tuple,
    /// A pair of the filter `groupby`, whose items have names.
    Group,
}

struct List {
    items: Vec<Value>,
    sort: Sort,
    depth: usize,
}

struct Dict {
    entries: Value,
    size: usize,
    depth: usize,
}

/// A list of values that were made for this rendering. Errors: one is a namespace, or is nested too deep.
pub fn list(items: Vec<Value>) -> Result<Value, Error> {
    make_list(items, Sort::List)
}

/// A dictionary in this order; a later entry takes the place of an earlier one with its key.
pub fn dict(entries: Vec<(Value, Value)>) -> Result<Value, Error> {
    let depth = 1 + depth_of(entries.iter().flat_map(|(key, value)| [key, value]))?;
    spend(2 * UNITS_PER_SLOT * entries.len() as u64);
    if let Some((key, _)) = entries.iter().find(|(key, _)| !is_hashable(key)) {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("unhashable type: {}", key.kind())));
    }
    let entries = Value::from_pairs(entries);
    let size = entries.len().unwrap_or(0);
    Ok(Value::from_object(Dict { entries, size, depth }))
}

/// The dictionary of a literal: keys and values in turn.
pub fn dict_of(parts: Rest<Value>) -> Result<Value, Error> {
    dict(parts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
}

/// A value as it may be kept in a name: containers become ours. Namespaces, macros and the like stay what they are.
pub fn own(value: Value) -> Result<Value, Error> {
    spend(1);
    match value.as_object() {
        None => Ok(value),
        Some(object) if is_ours(object) || is_machinery(object) => Ok(value),
        Some(_) => convert(value, 0),
    }
}

/// A value as it may be kept in a container or in a namespace.
pub fn own_part(value: Value) -> Result<Value, Error> {
    let value = own(value)?;
    match value.as_object() {
        Some(object) if has_state(object) => Err(no_state(object)),
        _ => Ok(value),
    }
}

/// True for Python's tuples.
pub fn is_tuple(value: &Value) -> bool {
    value.is_tuple() || value.downcast_object_ref::<List>().is_some_and(|list| list.sort != Sort::List)
}

fn make_list(items: Vec<Value>, sort: Sort) -> Result<Value, Error> {
    let depth = 1 + depth_of(items.iter())?;
    spend(UNITS_PER_SLOT * items.len() as u64);
    Ok(Value::from_object(List { items, sort, depth }))
}

/// The depth of the deepest. Errors: one can't be part of a container, or is as deep as a value may be.
fn depth_of<'v>(parts: impl Iterator<Item = &'v Value>) -> Result<usize, Error> {
    let mut deepest = 0;
    for object in parts.filter_map(Value::as_object) {
        if has_state(object) {
            return Err(no_state(object));
        }
        let list = object.downcast_ref::<List>().map(|list| list.depth);
        deepest = deepest.max(list.or(object.downcast_ref::<Dict>().map(|dict| dict.depth)).unwrap_or(0));
    }
    if deepest >= MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(deepest)
}

/// The engine's temporary containers nest only as deep as one expression or one filter makes them.
fn convert(value: Value, level: usize) -> Result<Value, Error> {
    let Some(object) = value.as_object().filter(|object| !is_ours(object) && !is_machinery(object)) else {
        return Ok(value);
    };
    if level > MAX_DEPTH {
        return Err(too_deep());
    }
    match object.repr() {
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            let mut items = Vec::new();
            for item in value.try_iter()?.checked() {
                spend(1);
                items.push(convert(item?, level + 1)?);
            }
            make_list(items, sort_of(&value, object))
        }
        ObjectRepr::Map => {
            let mut entries = Vec::new();
            for key in value.try_iter()?.checked() {
                let key = key?;
                spend(1);
                let entry = object.get_value(&key).unwrap_or_default();
                entries.push((convert(key, level + 1)?, convert(entry, level + 1)?));
            }
            dict(entries)
        }
        _ => Ok(value),
    }
}

fn sort_of(value: &Value, object: &DynObject) -> Sort {
    if value.is_tuple() {
        Sort::Tuple
    } else if object.type_name().ends_with("::GroupTuple") {
        Sort::Group
    } else {
        Sort::List
    }
}

fn is_ours(object: &DynObject) -> bool {
    object.downcast_ref::<List>().is_some() || object.downcast_ref::<Dict>().is_some()
}

/// Objects of the engine itself. Their types are private, their names are not.
fn is_machinery(object: &DynObject) -> bool {
    let name = object.type_name();
    has_state(object) || name.ends_with("::Macro") || name.ends_with("::KwargsValues")
}

/// What changes while the template runs; it could come to hold what holds it.
fn has_state(object: &DynObject) -> bool {
    let name = object.type_name();
    name.ends_with("::Namespace") || name.ends_with("::Loop")
}

fn no_state(object: &DynObject) -> Error {
    let what = if object.type_name().ends_with("::Loop") { "loop" } else { "a namespace" };
    let message = format!("{what} can't be kept in a list, a dictionary or a namespace");
    Error::new(ErrorKind::InvalidOperation, message)
}

fn is_hashable(key: &Value) -> bool {
    match key.as_object() {
        None => true,
        Some(object) => object.repr() == ObjectRepr::Plain || is_tuple(key),
    }
}

/// The items of a list, paid for in advance by a few at a time.
struct Items {
    list: Arc<List>,
    rest: Range<usize>,
}

impl Items {
    const PAID_AT_ONCE: u64 = 8;

    fn item(&self, at: usize) -> Option<Value> {
        if self.rest.len() as u64 % Self::PAID_AT_ONCE == 0 {
            spend(Self::PAID_AT_ONCE);
        }
        self.list.items.get(at).cloned()
    }
}

impl Iterator for Items {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let at = self.rest.next()?;
        self.item(at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl DoubleEndedIterator for Items {
    fn next_back(&mut self) -> Option<Value> {
        let at = self.rest.next_back()?;
        self.item(at)
    }
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        spend(1);
        match (self.sort, key.as_str()) {
            (Sort::Group, Some("grouper")) => self.items.first().cloned(),
            (Sort::Group, Some("list")) => self.items.get(1).cloned(),
            _ => self.items.get(key.as_usize()?).cloned(),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        spend(1);
        Enumerator::RevIter(Box::new(Items { list: self.clone(), rest: 0..self.items.len() }))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items.len())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.items.is_empty()
    }

    /// A list and a tuple are never equal; all else is decided by the items.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        spend(1);
        let other = other.downcast_ref::<Self>()?;
        match (self.sort == Sort::List).cmp(&(other.sort == Sort::List)) {
            Ordering::Equal => None,
            order => Some(order),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&Value::from_dyn_object(self.clone()), f)
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        spend(1);
        self.entries.as_object().filter(|_| is_hashable(key))?.get_value(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        spend(1);
        self.entries.as_object()?.get_value_by_str(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        spend(1);
        match self.entries.as_object().and_then(DynObject::try_iter_pairs) {
            Some(pairs) => Enumerator::KeyValueIter(Box::new(pairs.inspect(|_| spend(1)))),
            None => Enumerator::Empty,
        }
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.size)
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.size > 0
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&Value::from_dyn_object(self.clone()), f)
    }
}

/// The engine prints containers by their debug form inside its own containers.
impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        spend(1);
        f.debug_list().entries(&self.items).finish()
    }
}

impl fmt::Debug for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        spend(1);
        self.entries.fmt(f)
    }
}

fn print(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&python::repr(value).map_err(|_| fmt::Error)?)
}

/// True when a value of this kind has parts.
pub fn is_container(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map)
}
