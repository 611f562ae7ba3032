//! How files speak of instances of a class.

use super::lines::{Speaker, speakers};
use crate::link::resolve::Resolver;
use crate::words::{Sought, Word};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names by which instances of a class may be spoken of: its own, those of classes under it, and of what holds or returns one.
///
/// Read off the lines that name the class, without parsing: `class B(A)`, `self.x = A(…)`, `return A(…)`, `def f() -> A`.
#[derive(Debug)]
pub(crate) struct Speakers {
    /// The class and those under it.
    pub(crate) classes: FxHashSet<Word>,
    /// What holds or returns an instance.
    pub(crate) holders: FxHashSet<Word>,
}

/// What the lines that name a class bind.
#[derive(Debug, Default)]
pub(crate) struct Said {
    classes: BTreeSet<String>,
    holders: BTreeSet<String>,
}

/// Who speaks of a class known by name.
pub(crate) fn speakers_of(resolver: &Resolver, own: &str) -> Arc<Speakers> {
    let known = resolver.speakers.read().ok().and_then(|known| known.get(own).cloned());
    known.unwrap_or_else(|| {
        let found = Arc::new(find_speakers(resolver, own));
        if let Ok(mut known) = resolver.speakers.write() {
            known.insert(own.into(), found.clone());
        }
        found
    })
}

/// Reads what is said of classes, and of those under them, so that [`speakers_of`] knows: each text is looked through once for all.
pub(crate) fn read_of<'n>(resolver: &Resolver, classes: impl Iterator<Item = &'n str>) {
    let mut asked: BTreeSet<String> = classes.map(str::to_owned).collect();
    loop {
        if let Ok(known) = resolver.said.read() {
            asked.retain(|name| !known.contains_key(name.as_str()));
        }
        if asked.is_empty() {
            return;
        }
        let names: Vec<String> = std::mem::take(&mut asked).into_iter().collect();
        for (name, said) in names.iter().zip(read(resolver, &names)) {
            asked.extend(said.classes.iter().cloned());
            if let Ok(mut known) = resolver.said.write() {
                known.insert(name.as_str().into(), Arc::new(said));
            }
        }
    }
}

fn read(resolver: &Resolver, names: &[String]) -> Vec<Said> {
    let mut by_word: FxHashMap<Word, Vec<usize>> = FxHashMap::default();
    for (i, name) in names.iter().enumerate() {
        by_word.entry(Word::of(name)).or_default().push(i);
    }
    let sought = Sought::new(by_word);
    let in_file = |i: usize| {
        let file = &resolver.files[i];
        let here = sought.in_text(&file.words).flatten();
        here.flat_map(|&name| {
            speakers(&file.source.text, &names[name])
                .into_iter()
                .map(move |speaker| (name, speaker))
        })
        .collect::<Vec<_>>()
    };
    let found: Vec<Vec<(usize, Speaker)>> = (0..resolver.files.len()).into_par_iter().map(in_file).collect();
    let mut said: Vec<Said> = names.iter().map(|_| Said::default()).collect();
    for (name, speaker) in found.into_iter().flatten() {
        match speaker {
            Speaker::Class(class) => said[name].classes.insert(class),
            Speaker::Holder(holder) => said[name].holders.insert(holder),
        };
    }
    said
}

fn find_speakers(resolver: &Resolver, own: &str) -> Speakers {
    read_of(resolver, [own].into_iter());
    let said = |name: &str| resolver.said.read().ok().and_then(|known| known.get(name).cloned());
    let mut classes: BTreeSet<String> = BTreeSet::from([own.to_owned()]);
    let mut holders: FxHashSet<Word> = FxHashSet::default();
    let mut todo = vec![own.to_owned()];
    while let Some(said) = todo.pop().and_then(|name| said(&name)) {
        holders.extend(said.holders.iter().map(|name| Word::of(name)));
        todo.extend(said.classes.iter().filter(|class| classes.insert((*class).clone())).cloned());
    }
    Speakers {
        classes: classes.iter().map(|name| Word::of(name)).collect(),
        holders,
    }
}
