use super::*;

fn param(i: u16) -> Term {
    Term::Param(i)
}

fn int(i: i64) -> Term {
    Term::Literal(Literal::Int(i))
}

fn boolean(b: bool) -> Term {
    Term::Literal(Literal::Bool(b))
}

fn truthy(i: u16) -> Condition {
    Condition::truthy(param(i))
}

fn none(i: u16) -> Condition {
    Condition::is_none(param(i))
}

#[test]
fn joins_are_normal() {
    let (a, b) = (truthy(0), truthy(1));
    assert_eq!(a.clone().and(b.clone()), b.clone().and(a.clone()));
    assert_eq!(a.clone().and(a.clone()), a);
    assert_eq!(a.clone().and(a.clone().not()), Condition::False);
    assert_eq!(a.clone().or(a.clone().not()), Condition::True);
    assert_eq!(a.clone().or(a.clone().and(b.clone())), a);
    assert_eq!(a.clone().and(b.clone()).not(), a.clone().not().or(b.clone().not()));
    assert_eq!(a.clone().not().not(), a);
    assert_eq!(Condition::all([]), Condition::True);
    assert_eq!(Condition::any([]), Condition::False);
}

#[test]
fn unknown_never_excludes() {
    let a = truthy(0);
    assert_eq!(Condition::Unknown.not(), Condition::Unknown);
    assert_eq!(Condition::Unknown.and(a.clone()).value(), None);
    assert_eq!(Condition::Unknown.and(Condition::False).value(), Some(false));
    // `not (unknown and a)` must not claim `not a`
    let negated = Condition::Unknown.and(a.clone()).not();
    assert!(!contradicts(&[&negated, &a]));
    assert!(!contradicts(&[&Condition::Unknown]));
    assert!(contradicts(&[&Condition::Unknown.and(a.clone()), &a.not()]));
}

#[test]
fn literals_fold_as_python_does() {
    assert_eq!(Condition::equal(int(1), boolean(true)), Condition::True);
    assert_eq!(Condition::equal(int(2), boolean(true)), Condition::False);
    assert_eq!(
        Condition::equal(Term::Literal(Literal::Float("1.0".into())), int(1)),
        Condition::True
    );
    assert_eq!(Condition::equal(Term::Literal(Literal::Str("a".into())), int(1)), Condition::False);
    assert_eq!(Condition::equal(param(0), Term::Literal(Literal::None)), none(0));
    assert_eq!(Condition::equal(int(4), param(0)), Condition::equal(param(0), int(4)));
    assert_eq!(Condition::less(int(1), int(2)), Condition::True);
    assert_eq!(Condition::truthy(Term::Literal(Literal::Str("".into()))), Condition::False);
}

#[test]
fn contradictions_of_leaves() {
    let one = Condition::equal(param(0), int(1));
    let two = Condition::equal(param(0), int(2));
    assert!(contradicts(&[&one, &two]));
    assert!(contradicts(&[&truthy(0), &none(0)]));
    assert!(contradicts(&[&truthy(0), &Condition::equal(param(0), int(0))]));
    assert!(contradicts(&[&truthy(0), &Condition::equal(param(0), boolean(false))]));
    assert!(contradicts(&[&truthy(0).not(), &Condition::equal(param(0), boolean(true))]));
    assert!(contradicts(&[&none(0), &one]));
    assert!(contradicts(&[&one, &one.clone().not()]));
    let less = Condition::less(param(0), param(1));
    assert!(contradicts(&[&less, &Condition::less(param(1), param(0))]));
    assert!(contradicts(&[&less, &less.clone().not()]));
    assert!(!contradicts(&[&truthy(0), &truthy(1).not()]));
    assert!(!contradicts(&[&truthy(0).not(), &none(0).not()]));
    assert!(!contradicts(&[&one, &truthy(0)]));
    assert!(!contradicts(&[&one.not(), &two.not()]));
}

#[test]
fn contradictions_through_alternatives() {
    let either = truthy(0).or(truthy(1));
    assert!(contradicts(&[&either, &truthy(0).not(), &truthy(1).not()]));
    assert!(!contradicts(&[&either, &truthy(0).not()]));
    let mode = |i| Condition::equal(param(2), int(i));
    let modes = mode(1).or(mode(2));
    assert!(contradicts(&[&modes, &mode(3)]));
    let cases = truthy(0).and(mode(1)).or(truthy(1).and(mode(2)));
    assert!(contradicts(&[&cases, &truthy(0).not(), &mode(1)]));
    assert!(!contradicts(&[&cases, &truthy(0).not(), &mode(2)]));
}

#[test]
fn substitution_speaks_the_callers_words() {
    let when = truthy(0).and(none(1).not()).and(Condition::equal(param(2), boolean(false)));
    let caller = |p: u16| match p {
        0 => Binding::Condition(truthy(7)),
        1 => Binding::NotNone,
        _ => Binding::Condition(none(8)),
    };
    assert_eq!(when.substitute(&caller), truthy(7).and(none(8).not()));
    assert_eq!(when.substitute(&|_| Binding::literal(Literal::None)), Condition::False);
    assert_eq!(when.substitute(&|_| Binding::Unknown), Condition::Unknown);
    assert_eq!(
        Condition::Truthy(Term::Value(9)).substitute(&|_| Binding::Unknown),
        Condition::Unknown
    );
    assert_eq!(
        Condition::Truthy(Term::Global(9)).substitute(&|_| Binding::Unknown),
        Condition::Truthy(Term::Global(9))
    );
}

#[test]
fn a_choice_keeps_its_condition() {
    // k_cache if has_kv else None
    let binding = Binding::choose(truthy(3), Binding::NotNone, Binding::literal(Literal::None));
    assert_eq!(none(0).not().substitute(&|_| binding.clone()), truthy(3));
    assert_eq!(binding.is_none(), truthy(3).not());
    let number = Binding::choose(truthy(3), Binding::literal(Literal::Int(1)), Binding::literal(Literal::Int(2)));
    assert_eq!(Condition::equal(param(0), int(2)).substitute(&|_| number.clone()), truthy(3).not());
}

#[test]
fn what_is_too_long_keeps_what_its_alternatives_share() {
    let alternative = |i: u16| Condition::all([truthy(0), truthy(2 * i).not(), none(2 * i + 1)]);
    let long = Condition::any((1..9).map(alternative));
    assert_eq!(long.clone().at_most(12), truthy(0));
    assert_eq!(Condition::any((1..9).map(truthy)).at_most(4), Condition::Unknown);
    assert_eq!(Condition::all((1..9).map(truthy)).at_most(2), truthy(1).and(truthy(2)));
    assert_eq!(long.clone().at_most(96), long);
}
