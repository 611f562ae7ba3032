//! What a launch looks like in a text.

use super::IS_WORD;
use memchr::memmem;

/// Whether an item is taken of what may be a table of kernels.
pub(super) fn has_table_of_kernels(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'[', bytes).any(|at| {
        let word = bytes[..at].iter().rev().take_while(|b| IS_WORD[**b as usize]).count();
        is_table_of_kernels(&bytes[at - word..at])
    })
}

/// `kernels[…]`, but not the extent of a convolution: `kernel_size[0]`.
fn is_table_of_kernels(word: &[u8]) -> bool {
    is_kernel_like(word) && !word.ends_with(b"size") && !word.ends_with(b"sizes")
}

pub(super) fn is_kernel_like(text: &[u8]) -> bool {
    let kernel = |at: usize| at > 0 && matches!(text[at - 1], b'k' | b'K');
    memmem::find_iter(text, b"ernel").any(kernel) || memmem::find(text, b"KERNEL").is_some()
}

/// Something subscripted is called as a launch is: `name[…](`, but for types (`dict[str, int](`) and items (`layers[0](`).
pub(super) fn has_launch(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b']', bytes).any(|at| {
        let rest = &bytes[at + 1..];
        let blank = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        rest.get(blank) == Some(&b'(') && is_launch(bytes, at)
    })
}

/// The same for the bracket that closes at an offset.
fn is_launch(bytes: &[u8], close: usize) -> bool {
    // What is longer than that is no item and no type.
    let Some(open) = opening(bytes, close) else { return true };
    let before = &bytes[..open];
    let base = before.trim_ascii_end();
    let is_apart = base.len() < before.len();
    let word = base.iter().rev().take_while(|b| IS_WORD[**b as usize]).count();
    let word = &base[base.len() - word..];
    let Some(first) = word.first() else {
        return !is_apart && matches!(base.last(), Some(b')' | b']'));
    };
    // Prose: "of shape [rows, columns] (or fewer)".
    if is_apart && !is_kernel_like(word) {
        return false;
    }
    let inside = bytes[open + 1..close].trim_ascii();
    let is_item = !inside.is_empty() && inside.iter().all(u8::is_ascii_digit);
    let is_camel = first.is_ascii_uppercase() && word.iter().any(u8::is_ascii_lowercase);
    let is_type = is_camel
        || matches!(
            word,
            b"dict" | b"list" | b"set" | b"tuple" | b"frozenset" | b"deque" | b"defaultdict"
        );
    !is_item && (!is_type || is_kernel_like(word))
}

/// The bracket that belongs to the closing one at an offset, if it is near. Brackets in strings may lead astray: then there is none.
fn opening(bytes: &[u8], close: usize) -> Option<usize> {
    let mut depth = 0;
    for at in (close.saturating_sub(FAR)..=close).rev() {
        match bytes[at] {
            b']' | b')' | b'}' => depth += 1,
            b'[' | b'(' | b'{' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (bytes[at] == b'[').then_some(at);
        }
    }
    None
}

/// Bytes between two brackets that belong together, in all but the longest grids.
const FAR: usize = 400;
