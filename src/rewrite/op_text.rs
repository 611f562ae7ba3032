//! The text that registers one op, in each style, whatever its functions look like.

use super::fake::Fake;
use super::signature;
use super::styles::Route;
use crate::knowledge::frameworks::Form;

/// An op whose functions stand somewhere in a module.
pub(super) struct OpText<'s> {
    pub(super) route: &'s Route<'s>,
    pub(super) namespace: &'s str,
    /// The op's name, without the namespace.
    pub(super) op: &'s str,
    pub(super) mutated: &'s [String],
    /// Those of them that nothing shows to be written, only that they may be.
    pub(super) suspected: &'s [String],
    /// The private function that does the work.
    pub(super) implementation: &'s str,
    /// The name of the fake implementation, if it is written out.
    pub(super) fake_name: &'s str,
    pub(super) fake: Option<&'s Fake>,
    /// It returns nothing.
    pub(super) nothing: bool,
    /// Indentation of the functions, and one level more.
    pub(super) indent: &'s str,
    pub(super) unit: &'s str,
    /// Length of lines.
    pub(super) width: usize,
}

impl OpText<'_> {
    fn list(&self, open: &str, close: &str) -> String {
        self.list_at(open, close, &format!("{}{}", self.indent, self.unit))
    }

    /// The mutated arguments in a call whose arguments have this indentation.
    fn list_at(&self, open: &str, close: &str, line: &str) -> String {
        let names: Vec<String> = self.mutated.iter().map(|n| format!("\"{n}\"")).collect();
        let inner = self.unit;
        if line.len() + "mutates_args=(),".len() + names.join(", ").len() > self.width {
            let lines: String = names.iter().map(|n| format!("{line}{inner}{n},\n")).collect();
            return format!("{open}\n{lines}{line}{close}");
        }
        let comma = if open == "(" && names.len() == 1 { "," } else { "" };
        format!("{open}{}{comma}{close}", names.join(", "))
    }

    /// Says which arguments are declared for want of knowledge: whoever knows better can shorten the list.
    fn note(&self) -> String {
        let names = format!(
            "{}# It is not known whether these are written: {}.\n",
            self.indent,
            self.suspected.join(", ")
        );
        match self.suspected.len() {
            0 => String::new(),
            n if n < self.mutated.len() && names.chars().count() <= self.width => names,
            n if n < self.mutated.len() => format!("{}# It is not known whether all of these are written.\n", self.indent),
            _ => format!("{}# It is not known which of these are written.\n", self.indent),
        }
    }

    /// An op that mutates and returns nothing gets its fake from torch, except under a composite key.
    pub(super) fn needs_fake(&self) -> bool {
        match self.route {
            Route::Library => true,
            Route::CustomOp | Route::House(..) => !self.nothing,
        }
    }

    /// The registrar's shorthand for the fake takes the place of a function.
    pub(super) fn fake_is_like(&self) -> bool {
        matches!((self.fake, self.route), (Some(Fake { like: Some(_), .. }), Route::House(_, style)) if style.form == Form::Decorator && style.fake_like.is_some())
    }

    /// The decorator that stands above the implementation, if the style has one. `named`: the op has the implementation's name.
    pub(super) fn decorator(&self, register: &str, named: bool) -> Option<String> {
        let (callee, arguments) = match self.route {
            Route::CustomOp => {
                let name = format!("\"{}::{}\"", self.namespace, self.op);
                (
                    "@torch.library.custom_op".to_string(),
                    vec![name, format!("mutates_args={}", self.list("(", ")"))],
                )
            }
            Route::House(_, style) if style.form == Form::Decorator => {
                let mut arguments = Vec::new();
                if !named {
                    arguments.push(format!("{}=\"{}\"", style.op, self.op));
                }
                if !self.mutated.is_empty() {
                    arguments.push(format!("{}={}", style.mutated, self.list("[", "]")));
                }
                match (self.fake, &style.fake_like) {
                    (Some(Fake { like: Some(like), .. }), Some(keyword)) => arguments.push(format!("{keyword}=\"{like}\"")),
                    (Some(_), _) if !self.nothing => arguments.push(format!("{}={}", style.fake, self.fake_name)),
                    _ => {}
                }
                (format!("@{register}"), arguments)
            }
            Route::Library | Route::House(..) => return None,
        };
        let call = signature::call_within(self.width, "", &callee, &arguments, (self.indent, self.unit));
        Some(format!("{}{call}\n", self.note()))
    }

    /// `lib.define("name" + infer_schema(…))`, broken the way formatters break it.
    fn define(&self, register: &str) -> String {
        let (indent, unit, width) = (self.indent, self.unit, self.width);
        let schema = |line: &str| {
            [
                self.implementation.to_string(),
                format!("mutates_args={}", self.list_at("(", ")", line)),
            ]
        };
        let infer = "torch.library.infer_schema";
        let one = format!("\"{}\" + {infer}({})", self.op, schema("").join(", "));
        let define = format!("{register}.define");
        let inner = format!("{indent}{unit}");
        if inner.chars().count() + one.chars().count() <= width && !one.contains('\n') {
            return signature::call_within(width, "", &define, &[one], (indent, unit));
        }
        let deeper = format!("{inner}{unit}");
        let infer = signature::call_within(width, "+ ", infer, &schema(&deeper), (&inner, unit));
        format!("{indent}{define}(\n{inner}\"{}\"\n{infer}\n{indent})", self.op)
    }

    /// The statements that register the op behind its functions, if the style has them.
    pub(super) fn statements(&self, register: &str) -> Option<String> {
        let (indent, unit, implementation, op) = (self.indent, self.unit, self.implementation, self.op);
        match self.route {
            Route::House(_, style) if style.form != Form::Decorator => {
                let mut arguments = vec![
                    format!("{}=\"{op}\"", style.op),
                    format!("{}={implementation}", style.implementation),
                    format!("{}={}", style.mutated, self.list("[", "]")),
                ];
                if self.needs_fake() {
                    arguments.push(format!("{}={}", style.fake, self.fake_name));
                }
                let call = signature::exploded("", register, &arguments, indent, unit);
                Some(format!("{}{call}\n", self.note()))
            }
            Route::Library => {
                let (name, call) = (format!("\"{op}\""), |callee: &str, arguments: &[String]| {
                    signature::call_within(self.width, "", callee, arguments, (indent, unit))
                });
                let impls = |what: String, key: &str| call(&format!("{register}.impl"), &[name.clone(), what, format!("\"{key}\"")]);
                let fake = [
                    format!("\"{}::{op}\"", self.namespace),
                    self.fake_name.to_string(),
                    format!("lib={register}"),
                ];
                let lines = [
                    self.define(register),
                    impls(implementation.to_string(), "CompositeExplicitAutograd"),
                    impls("torch.library.fallthrough_kernel".to_string(), "Autograd"),
                    call("torch.library.register_fake", &fake),
                ];
                Some(format!("{}{}\n", self.note(), lines.join("\n")))
            }
            Route::CustomOp | Route::House(..) => None,
        }
    }
}
