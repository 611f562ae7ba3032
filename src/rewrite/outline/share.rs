//! Launches that do the same with other arguments share one op.

use super::super::signature::Type;
use super::region::{Input, Region};
use super::text::Outline;

/// What an op does, whatever its parameters are called: its code with numbers in their places, which they get as they occur.
pub(super) struct Shape {
    code: String,
    /// Of each number, the parameter: an index into the region's inputs.
    params: Vec<usize>,
}

impl Shape {
    /// `None` for what has results of its own, whose fake would have to be the same too.
    pub(super) fn of(outline: &Outline) -> Option<Self> {
        if !outline.region.outputs.is_empty() {
            return None;
        }
        let (lines, _) = outline.moved("").ok()?;
        let inputs = &outline.region.inputs;
        let mut params: Vec<usize> = Vec::new();
        let code = renamed(&lines.join("\n"), |name| {
            let input = inputs.iter().position(|i| i.param == name)?;
            let number = params.iter().position(|&p| p == input).unwrap_or_else(|| {
                params.push(input);
                params.len() - 1
            });
            Some(format!("${number}"))
        });
        (params.len() == inputs.len()).then_some(Self { code, params })
    }

    /// Which of the other's inputs each of `own` is, when one op can do both. It takes `None` where either may be.
    fn arguments(&self, own: &mut [Input], other: &Self, theirs: &[Input]) -> Option<Vec<usize>> {
        let pairs: Vec<(usize, usize)> = self.params.iter().copied().zip(other.params.iter().copied()).collect();
        let alike = |a: &Input, b: &Input| {
            let same = Type {
                optional: a.ty.optional,
                ..b.ty
            } == a.ty;
            let takes = a.ty.optional || !b.ty.optional || a.ty.is_tensor();
            same && takes && (a.written, a.suspected, a.tuple) == (b.written, b.suspected, b.tuple)
        };
        if self.code != other.code || !pairs.iter().all(|&(a, b)| alike(&own[a], &theirs[b])) {
            return None;
        }
        let mut arguments = vec![0; own.len()];
        for (a, b) in pairs {
            own[a].ty.optional |= theirs[b].ty.optional;
            arguments[a] = b;
        }
        Some(arguments)
    }
}

/// A region that calls the op of one before it.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// The index of that region.
    pub(super) owner: usize,
    /// By parameter of the op: the index of the input that is passed.
    pub(super) arguments: Vec<usize>,
}

/// For each region, whose op it calls; `None`: one of its own. Parameters of that op may become optional.
pub(super) fn shared(shapes: &[Option<Shape>], regions: &mut [Region]) -> Vec<Option<Shared>> {
    let mut shared: Vec<Option<Shared>> = vec![None; regions.len()];
    for i in 1..regions.len() {
        let (before, from) = regions.split_at_mut(i);
        let same = |owner: usize| {
            let (own, other) = (shapes[owner].as_ref()?, shapes[i].as_ref()?);
            let arguments = own.arguments(&mut before[owner].inputs, other, &from[0].inputs)?;
            Some(Shared { owner, arguments })
        };
        shared[i] = (0..i).filter(|&owner| shared[owner].is_none()).find_map(same);
    }
    shared
}

/// A text with other names: attributes and keywords of calls stay.
fn renamed(text: &str, mut new: impl FnMut(&str) -> Option<String>) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        out.push_str(&rest[..at]);
        let from = &rest[at..];
        let end = from.find(|c| !word(c)).unwrap_or(from.len());
        let after = from[end..].trim_start();
        let keyword = after.starts_with('=') && !after.starts_with("==") && out.trim_end().ends_with(['(', ',']);
        let attribute = out.ends_with('.');
        let name = &from[..end];
        match Some(name).filter(|_| !keyword && !attribute).and_then(&mut new) {
            Some(new) => out.push_str(&new),
            None => out.push_str(name),
        }
        rest = &from[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn keywords_and_attributes_keep_their_names() {
        let upper = |name: &str| (name == "x").then(|| "$0".to_string());
        assert_eq!(renamed("k[(x,)](y, x=x, n=o.x + x)", upper), "k[($0,)](y, x=$0, n=o.x + $0)");
        assert_eq!(renamed("x = x + xs", upper), "$0 = $0 + xs");
    }
}
