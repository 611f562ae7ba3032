use super::torch::Shares;
use super::*;

#[test]
fn embedded_files_are_valid() {
    let knowledge = Knowledge::embedded();
    assert!(knowledge.framework("torch").is_some());
}

#[test]
fn unknown_key_names_file_place_and_neighbour() {
    let text = "checked = { package = \"a\", version = \"1\", on = \"2026-01-01\" }\n[[call]]\nname = \"a.b\"\nwrtes = [\"x\"]\n";
    let error = Knowledge::with_overlays(&[("conf/acme.toml", text)]).unwrap_err();
    assert_eq!(error.file, "conf/acme.toml");
    assert_eq!(error.key, "line 4, column 1");
    assert_eq!(error.suggestion.as_deref(), Some("writes"));
    assert!(error.to_string().ends_with("did you mean `writes`?"), "{error}");
}

#[test]
fn effect_text_is_read_back() {
    for text in [
        "(self!) -> view self",
        "(input!, inplace?) -> fresh; view input",
        "(*tensors) -> maybe tensors",
        "(self, *, copy^) -> maybe self",
        "(*, out!) -> view out, view out",
        "(self~, source) -> view self source",
        "() -> scalar",
        "(self) -> ()",
    ] {
        let effect = torch::Effect::read(text).unwrap();
        assert_eq!(effect.text(), text);
    }
    for text in [
        "self -> fresh",
        "(x) fresh",
        "(x) -> view y",
        "(x) -> view",
        "(x y) -> fresh",
        "(x) -> new",
    ] {
        assert!(torch::Effect::read(text).is_err(), "{text}");
    }
}

#[test]
fn trailing_underscore_means_in_place() {
    let torch = &Knowledge::embedded().torch;
    let add = torch.method("add_").unwrap();
    assert_eq!(
        (add.writes.as_slice(), add.results.as_slice()),
        (&[0][..], &[Shares::View(vec![0])][..])
    );
    assert!(torch.function("torch.ops.aten.add_.Tensor").is_some());
    assert!(torch.method("__len__").is_none());
}
