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
        "(input!?, inplace?) -> fresh; view input",
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
    assert!(torch.method("__no_such__").is_none() && torch.method("_").is_none());
}

#[test]
fn torch_file_knows_views_copies_and_writes() {
    let torch = &Knowledge::embedded().torch;
    let results = |name: &str| torch.function(name).unwrap_or_else(|| panic!("{name}")).results.clone();
    for (name, expected) in [
        ("torch.add", "(*, out!) -> view out"),
        ("torch.Tensor.add", "() -> fresh"),
        ("torch.Tensor.view", "(self) -> view self"),
        ("torch.Tensor.reshape", "(self) -> maybe self"),
        ("torch.Tensor.contiguous", "(self) -> maybe self"),
        ("torch.Tensor.to", "(self, *args, copy^) -> maybe self"),
        ("torch.Tensor.half", "(self) -> maybe self"),
        ("torch.Tensor.clone", "() -> fresh"),
        ("torch.Tensor.split", "(self) -> views self"),
        ("torch.Tensor.topk", "() -> fresh, fresh"),
        ("torch.topk", "(*, out!) -> view out, view out"),
        ("torch.Tensor.max", "(self, dim?, keepdim) -> fresh; list"),
        ("torch.Tensor.t_", "(self~) -> view self"),
        ("torch.Tensor.set_", "(self~, source) -> view self source"),
        ("torch.Tensor.copy_", "(self!) -> view self"),
        ("torch.Tensor.requires_grad_", "(self) -> view self"),
        ("torch.Tensor.data_ptr", "() -> scalar"),
        ("torch.Tensor.record_stream", "() -> ()"),
        ("torch.empty_like", "(*, out!) -> view out"),
        ("torch.from_numpy", "(ndarray) -> view ndarray"),
        ("torch.nn.functional.relu", "(input!?, inplace?) -> fresh; view input"),
        ("torch.nn.functional.pad", "() -> fresh"),
        (
            "torch.nn.functional.dropout",
            "(input!?, p, training, inplace?) -> maybe input; view input",
        ),
        ("torch._foreach_mul_", "(self!) -> ()"),
        ("torch.nn.init.normal_", "(input!) -> view input"),
        (
            "torch.distributed.all_gather_into_tensor",
            "(output_tensor!, input_tensor, group, async_op) -> scalar",
        ),
        ("torch.ops.aten.topk.values", "(*, values!, indices!) -> view values, view indices"),
        ("torch.ops.aten.slice.Tensor", "(self) -> view self"),
        ("torch.ops.aten.copy_.default", "(input!) -> view input"),
        ("torch.ops._c10d_functional.wait_tensor", "(tensor) -> view tensor"),
        ("torch.cuda.current_stream", "() -> scalar"),
        ("torch.npu.current_stream", "() -> scalar"),
        ("torch.nn.Linear", "() -> scalar"),
        ("torch.nn.Parameter", "(data, requires_grad) -> view data"),
        ("torch.where", "(condition, input?, other, *, out!) -> list; view out"),
        ("torch.Tensor.where", "() -> fresh"),
        ("torch.Tensor.resolve_conj", "(self) -> maybe self"),
        ("torch.functional.einsum", "(equation, *operands) -> maybe operands"),
        ("torch.linalg.norm", "(*, out!) -> view out"),
    ] {
        assert_eq!(torch.function(name).map(torch::Effect::text).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(results("torch.unbind"), [Shares::Views(vec![0])]);
    assert_eq!(torch.attribute("mT"), Some(torch::Attribute::View));
    assert_eq!(torch.attribute("shape"), Some(torch::Attribute::Scalar));
    assert!(torch.function("numpy.add").is_none() && torch.function("torch.no_such_name").is_none());
}

#[test]
fn description_names_the_file() {
    let knowledge = Knowledge::embedded();
    let text = knowledge.describe("torch.Tensor.reshape").unwrap();
    assert_eq!(text, "torch.Tensor.reshape(self) -> maybe self\n  rules/knowledge/torch.toml");
    assert!(knowledge.describe("acme.nothing").is_none());
}

mod schemas {
    use crate::knowledge::op_schema::OpSchema;

    fn parse(text: &str) -> OpSchema {
        OpSchema::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn aten_schemas_are_read() {
        let add = parse("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
        assert_eq!((&*add.namespace, &*add.name, &*add.overload), ("aten", "add", "out"));
        assert_eq!(add.writes().collect::<Vec<_>>(), [3]);
        assert!(add.params[2].keyword_only && !add.params[1].keyword_only);
        assert_eq!(add.params[2].default.as_deref(), Some("1"));
        assert_eq!(add.sources(&add.returns[0]), [3]);

        let split = parse("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
        assert_eq!(split.returns[0].ty.text, "Tensor[]");
        assert_eq!(split.sources(&split.returns[0]), [0]);

        let conv = parse(
            "conv(Tensor x, SymInt[2] stride=1, SymInt[2] padding=[0, 0], str mode=\"a, b)\", float e=-1e-05) -> (Tensor, Tensor indices)",
        );
        assert_eq!(conv.params[2].default.as_deref(), Some("[0, 0]"));
        assert_eq!(conv.params[3].default.as_deref(), Some("\"a, b)\""));
        assert_eq!(conv.params[4].default.as_deref(), Some("-1e-05"));
        assert_eq!(conv.returns[1].name.as_deref(), Some("indices"));

        let lists = parse("f(Tensor(a!)[] self, Tensor[](b!)? outs, Tensor!? key, Tensor? z=None, Dict(str, Tensor)[] d) -> ()");
        assert_eq!(lists.writes().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(lists.params[1].ty.text, "Tensor[]?");
        assert_eq!(lists.params[4].ty.text, "Dict(str, Tensor)[]");
        assert!(lists.returns.is_empty());

        let class = parse("make(__torch__.torch.classes.c10d.ProcessGroup g, ...) -> ...");
        assert!(class.variadic);
        assert_eq!(parse("(Tensor x) -> Tensor").name, "");
        assert_eq!(parse("ns::only_a_name").qualified(), "ns::only_a_name");
    }

    #[test]
    fn malformed_schemas_are_refused() {
        for text in [
            "",
            "f(",
            "f(Tensor)",
            "f(Tensor x)",
            "f(Tensor x) ->",
            "f(Tensor x,) -> ()",
            "f(Tensor x) -> () extra",
            "f(Tensor(a! x) -> ()",
            "1f(Tensor x) -> ()",
            "a::b::c(Tensor x) -> ()",
            "f(Tensor x=) -> ()",
            "f(str s=\"a) -> ()",
            "f(Tensor[ x) -> ()",
            "f(Tensor x -> ()",
        ] {
            assert!(OpSchema::parse(text).is_err(), "{text}");
        }
        let deep = format!("f({}Tensor", "(".repeat(100_000));
        assert!(OpSchema::parse(&deep).is_err());
    }

    #[test]
    fn schemas_of_framework_files_are_read() {
        let knowledge = crate::knowledge::Knowledge::embedded();
        let schemas: Vec<&String> = knowledge.frameworks.iter().flat_map(|f| &f.schemas).collect();
        assert!(schemas.len() > 250);
        for schema in schemas {
            assert!(!parse(schema).namespace.is_empty(), "{schema}");
        }
    }
}
