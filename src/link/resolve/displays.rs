//! Elements of tuples, lists and dicts that are written out.

use super::{Entities, Entity, Resolver, ValueRef};
use crate::facts::{Const, Op, ValueId};

impl Resolver<'_> {
    pub(super) fn collect_index(&self, v: ValueRef, object: ValueId, index: ValueId, depth: u32, out: &mut Entities) {
        let key = self.body(v.at).op(index);
        let before = out.len();
        let object = ValueRef { at: v.at, value: object };
        if let Op::Const(key) = key {
            match key {
                Const::Int(i) => self.collect_elements(object, Some(i64::from(i)), depth, out),
                Const::Str(text) => self.collect_keyed(object, self.text(v.at.file, text), depth, out),
                _ => {}
            }
        }
        if out.len() == before {
            self.collect_elements(object, None, depth, out);
        }
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// Elements of a display that a value refers to: one position, or all.
    pub(super) fn collect_elements(&self, v: ValueRef, position: Option<i64>, depth: u32, out: &mut Entities) {
        for display in self.displays(v, depth) {
            let body = self.body(display.at);
            match body.op(display.value) {
                Op::Tuple(items) | Op::List(items) | Op::Set(items) => {
                    let items = body.items(items);
                    let one = position.map(|p| if p < 0 { p + items.len() as i64 } else { p });
                    for (i, &item) in items.iter().enumerate() {
                        if one.is_none_or(|p| p == i as i64) {
                            self.collect(
                                ValueRef {
                                    at: display.at,
                                    value: item,
                                },
                                depth.saturating_sub(1),
                                out,
                            );
                        }
                    }
                }
                Op::Dict(items) => {
                    for pair in body.items(items).chunks(2) {
                        self.collect(
                            ValueRef {
                                at: display.at,
                                value: pair[1],
                            },
                            depth.saturating_sub(1),
                            out,
                        );
                    }
                }
                _ => {}
            }
        }
        out.retain(|e| !matches!(e, Entity::Value(x) if *x == v));
    }

    pub(super) fn collect_keyed(&self, v: ValueRef, key: &str, depth: u32, out: &mut Entities) {
        for display in self.displays(v, depth) {
            let body = self.body(display.at);
            if let Op::Dict(items) = body.op(display.value) {
                for pair in body.items(items).chunks(2) {
                    if matches!(body.op(pair[0]), Op::Const(Const::Str(s)) if self.text(display.at.file, s) == key) {
                        self.collect(
                            ValueRef {
                                at: display.at,
                                value: pair[1],
                            },
                            depth.saturating_sub(1),
                            out,
                        );
                    }
                }
            }
        }
    }

    /// The tuple, list and dict displays that a value may be.
    pub(super) fn displays(&self, v: ValueRef, depth: u32) -> Vec<ValueRef> {
        let mut found = Vec::new();
        self.collect(v, depth, &mut found);
        found
            .into_iter()
            .filter_map(|e| match e {
                Entity::Value(v) if matches!(self.body(v.at).op(v.value), Op::Tuple(_) | Op::List(_) | Op::Set(_) | Op::Dict(_)) => Some(v),
                _ => None,
            })
            .collect()
    }
}
