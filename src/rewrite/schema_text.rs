//! Marks the written arguments in the text of a schema: `Tensor x` becomes `Tensor(a!) x`.

use crate::finding::Edit;
use crate::source::Span;

/// An argument that is a tensor, as it stands in the text.
struct Argument<'a> {
    name: &'a str,
    /// Between `Tensor` and what follows: `(a!)`, `!`, or nothing.
    mark: Span,
}

/// Edits of a schema's text (`start` is its offset in the file) that mark these arguments as written and no other.
pub(super) fn mark(text: &str, names: &[String], start: u32) -> Result<Vec<Edit>, String> {
    let end = text.find("->").ok_or("its schema is not written out in one piece")?;
    let arguments = arguments(&text[..end]);
    let mut edits = Vec::new();
    let mut taken: Vec<char> = text
        .match_indices("Tensor(")
        .filter_map(|(at, m)| text[at + m.len()..].chars().next())
        .collect();
    for name in names {
        let mut same = arguments.iter().filter(|a| a.name == name);
        let (Some(argument), None) = (same.next(), same.next()) else {
            return Err(format!("`{name}` does not stand in the text of its schema"));
        };
        if text[argument.mark.range()].contains('!') {
            continue;
        }
        if argument.mark.start != argument.mark.end {
            return Err(format!("`{name}` has an alias annotation already"));
        }
        let mark = if text.contains("Tensor!") {
            "!".to_string()
        } else {
            let free = ('a'..='z').find(|c| !taken.contains(c)).ok_or("too many alias sets")?;
            taken.push(free);
            format!("({free}!)")
        };
        edits.push(Edit::insert(start + argument.mark.start, mark));
    }
    for argument in arguments.iter().filter(|a| !names.iter().any(|n| n == a.name)) {
        let mark = &text[argument.mark.range()];
        if !mark.contains('!') {
            continue;
        }
        let set: String = mark.chars().filter(char::is_ascii_alphanumeric).collect();
        if !set.is_empty() && text[end..].contains(&format!("Tensor({set}")) {
            return Err(format!("a result of its schema shares the alias set of `{}`", argument.name));
        }
        edits.push(Edit::replace(Span::new(start + argument.mark.start, start + argument.mark.end), ""));
    }
    Ok(edits)
}

fn arguments(text: &str) -> Vec<Argument<'_>> {
    let mut found = Vec::new();
    for (at, word) in text.match_indices("Tensor") {
        let after = at + word.len();
        let rest = &text[after..];
        let mark = if rest.starts_with('!') {
            1
        } else if rest.starts_with('(') {
            rest.find(')').map_or(0, |i| i + 1)
        } else {
            0
        };
        let suffix = rest[mark..]
            .chars()
            .take_while(|c| matches!(c, '?' | '[' | ']' | '0'..='9'))
            .count();
        let behind = &rest[mark + suffix..];
        let name = behind.trim_start_matches(' ');
        if name.len() == behind.len() {
            continue;
        }
        let length = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        if length > 0 {
            found.push(Argument {
                name: &name[..length],
                mark: Span::new(after as u32, (after + mark) as u32),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, names: &[&str]) -> Result<String, String> {
        let names: Vec<String> = names.iter().map(|n| (*n).to_string()).collect();
        let mut edits = mark(text, &names, 0)?;
        edits.sort_by_key(|e| std::cmp::Reverse(e.span.start));
        let mut text = text.to_string();
        for edit in edits {
            text.replace_range(edit.span.range(), &edit.content);
        }
        Ok(text)
    }

    #[test]
    fn marks_are_set_and_taken_away() {
        let text = "add(Tensor x, Tensor(a!) y, Tensor?[] z, int n) -> Tensor";
        assert_eq!(
            marked(text, &["y", "z"]).unwrap(),
            "add(Tensor x, Tensor(a!) y, Tensor(b!)?[] z, int n) -> Tensor"
        );
        assert_eq!(
            marked(text, &["x"]).unwrap(),
            "add(Tensor(b!) x, Tensor y, Tensor?[] z, int n) -> Tensor"
        );
        assert_eq!(
            marked("f(Tensor! x, Tensor y) -> ()", &["x", "y"]).unwrap(),
            "f(Tensor! x, Tensor! y) -> ()"
        );
    }

    #[test]
    fn what_a_result_shares_is_left() {
        assert!(marked("f(Tensor(a!) x) -> Tensor(a!)", &[]).is_err());
        assert!(marked("f(Tensor x)", &["x"]).is_err());
        assert!(marked("f(Tensor x) -> ()", &["y"]).is_err());
    }
}
