//! Annotates parameters of a function that is an op already.

use super::Options;
use super::interface::{annotated, default_is_none};
use super::scope::Scope;
use super::signature::Type;
use super::spelling::Spelling;
use super::types::Types;
use crate::facts::ParamKind;
use crate::finding::{Fix, Safety};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, Program};

/// Writes the annotations that use, default, callees and callers prove; `None` where any of them is open.
pub fn annotate(program: &Program, knowledge: &Knowledge, options: &Options, f: FunctionRef, params: &[u16]) -> Option<Fix> {
    let types = Types::new(program, knowledge, options.width);
    let scope = Scope::typed(&types, f);
    let spelling = Spelling::new(&scope, options.torch);
    let (mut texts, mut edits, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for &index in params {
        let param = &scope.function().params[usize::from(index)];
        let known = types.param(f, index).filter(|known| !known.unused)?;
        if matches!(param.kind, ParamKind::Star | ParamKind::StarStar) {
            return None;
        }
        let text = spelling.spell(Type {
            optional: known.ty.optional || default_is_none(&scope, param),
            ..known.ty
        })?;
        if !known.proven {
            reasons.push(format!("the type of `{}` is what its callers in view pass", scope.name(param.name)));
        }
        edits.push((f.file, annotated(param, &text)));
        texts.push(text);
    }
    edits.extend(spelling.imports(&texts)?.into_iter().map(|edit| (f.file, edit)));
    let names: Vec<String> = params.iter().map(|&p| format!("`{}`", program.param_name(f, p))).collect();
    Some(Fix {
        title: format!("annotate {}", names.join(", ")),
        safety: if reasons.is_empty() { Safety::Safe } else { Safety::Unsafe },
        reasons,
        claims: Vec::new(),
        edits,
    })
}
