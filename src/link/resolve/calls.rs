//! What a call hands back, and what a parameter is by its annotation.

use super::classes::binds_first;
use super::{ClassRef, Entities, Entity, Resolver, ValueRef};
use crate::facts::{ArgKind, Call, Const, FunctionKind, Op};
use crate::program::FunctionRef;

impl Resolver<'_> {
    pub(super) fn collect_call(&self, v: ValueRef, call: &Call, depth: u32, out: &mut Entities) {
        if let Some(function) = call.decorates {
            out.push(Entity::Function(FunctionRef { file: v.at.file, function }));
            return;
        }
        let first = call.args.first().filter(|a| a.kind == ArgKind::Positional);
        if let Some(class) = self.decorated_class(v, call) {
            out.push(Entity::Class(class));
            return;
        }
        let mut callees = Vec::new();
        self.collect(
            ValueRef {
                at: v.at,
                value: call.callee,
            },
            depth,
            &mut callees,
        );
        let before = out.len();
        for callee in callees {
            match callee {
                Entity::Class(class) => out.push(Entity::Instance(class)),
                Entity::External(path) if self.collect_named(v, call, &path, depth, out) => {}
                Entity::External(path) => match first {
                    Some(arg) if self.knowledge.keeps_function(&path) => {
                        let mut inner = Vec::new();
                        self.collect(
                            ValueRef {
                                at: v.at,
                                value: arg.value,
                            },
                            depth,
                            &mut inner,
                        );
                        inner.retain(|e| matches!(e, Entity::Function(_) | Entity::Bound(_) | Entity::Class(_)));
                        if inner.is_empty() {
                            out.push(Entity::Made(path, v))
                        } else {
                            out.append(&mut inner)
                        }
                    }
                    _ => out.push(Entity::Made(path, v)),
                },
                // A decorator made by a call and applied by hand: `triton.autotune(…)(fn)`.
                Entity::Made(path, _) if self.knowledge.keeps_function(&path) || path.starts_with("triton.") => {
                    if let Some(arg) = first {
                        self.collect(
                            ValueRef {
                                at: v.at,
                                value: arg.value,
                            },
                            depth,
                            out,
                        );
                    }
                }
                Entity::Made(path, _) => out.push(Entity::Made(format!("{path}()").into(), v)),
                Entity::Function(f) if self.collect_lazy(v, call, f, out) => {}
                Entity::Function(f) | Entity::Bound(f) => self.collect_returns(f, depth, out),
                Entity::Instance(class) => {
                    let mut calls = Vec::new();
                    self.collect_member(class, "__call__", true, depth, &mut calls);
                    for entity in calls {
                        if let Entity::Bound(f) = entity {
                            self.collect_returns(f, depth, out);
                        }
                    }
                }
                Entity::Module(_) | Entity::Namespace(_) | Entity::Value(_) => {}
            }
        }
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// The class that a decorator is applied to: decorators of classes hand the class back.
    fn decorated_class(&self, v: ValueRef, call: &Call) -> Option<ClassRef> {
        let body = self.body(v.at);
        let mut call = call;
        for _ in 0..8 {
            let [only] = call.args.as_slice() else { return None };
            match body.op(only.value) {
                Op::Class(class) => return Some(ClassRef { file: v.at.file, class }),
                Op::Call(inner) => call = body.call(inner),
                _ => return None,
            }
        }
        None
    }

    /// What a function hands back that has a name: functions, classes, instances, modules.
    pub(super) fn collect_returns(&self, f: FunctionRef, depth: u32, out: &mut Entities) {
        let Some(depth) = depth.checked_sub(4) else { return };
        let function = self.function(f);
        if function.is_generator || function.kind == FunctionKind::AsyncDef || function.body.values.len() > 4096 {
            return;
        }
        let mut found = Vec::new();
        for (_, value) in function.body.iter() {
            if let Op::Return(result) = value.op {
                self.collect(ValueRef { at: f, value: result }, depth, &mut found);
            }
        }
        out.extend(found.into_iter().filter(|e| !matches!(e, Entity::Value(_))));
    }

    pub(super) fn collect_param(&self, v: ValueRef, index: u16, depth: u32, out: &mut Entities) {
        let function = self.function(v.at);
        if index == 0
            && let Some(class) = function.class
        {
            let class = ClassRef { file: v.at.file, class };
            if binds_first(self, v.at, true) {
                let is_class = self.has_plain_decorator(v.at, "classmethod");
                out.push(if is_class { Entity::Class(class) } else { Entity::Instance(class) });
                return;
            }
        }
        let Some(annotation) = function.params.get(index as usize).and_then(|p| p.annotation) else {
            out.push(Entity::Value(v));
            return;
        };
        let before = out.len();
        self.collect_annotated(
            ValueRef {
                at: self.parent(v.at),
                value: annotation.value,
            },
            depth,
            out,
        );
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// Instances of the project's classes that an annotation names (through `Optional`, `|` and quotes).
    pub(super) fn collect_annotated(&self, v: ValueRef, depth: u32, out: &mut Entities) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match self.body(v.at).op(v.value) {
            Op::Binary(_, left, right) => {
                self.collect_annotated(ValueRef { at: v.at, value: left }, depth, out);
                self.collect_annotated(ValueRef { at: v.at, value: right }, depth, out);
            }
            Op::Index(object, index) => {
                if self
                    .external_where(v.at, object, |n| n.ends_with(".Optional") || n.ends_with(".Annotated"))
                    .is_some()
                {
                    self.collect_annotated(ValueRef { at: v.at, value: index }, depth, out);
                }
            }
            Op::Const(Const::Str(name)) => {
                let text = self.text(v.at.file, name);
                if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !text.is_empty() {
                    let mut found = Vec::new();
                    self.collect_free(v.at, self.find_name(v.at.file, text), text, depth, &mut found);
                    out.extend(found.into_iter().filter_map(|e| {
                        if let Entity::Class(c) = e {
                            Some(Entity::Instance(c))
                        } else {
                            None
                        }
                    }));
                }
            }
            _ => {
                let mut found = Vec::new();
                self.collect(v, depth, &mut found);
                out.extend(found.into_iter().filter_map(|e| {
                    if let Entity::Class(c) = e {
                        Some(Entity::Instance(c))
                    } else {
                        None
                    }
                }));
            }
        }
    }
}
