//! How a framework's own people register an op: what a fix in that style writes.

use super::frameworks::Form;
use serde::Deserialize;

/// The `[style]` table of a framework file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OpStyle {
    /// Module that the registrar is imported from.
    pub module: String,
    /// The registrar's name there.
    pub name: String,
    /// `call`: called after the functions. `decorator`: stands above the implementation and gives back a plain function.
    pub form: Form,
    /// Namespace of its ops: they are called as `torch.ops.<namespace>.<op>`.
    pub namespace: String,
    /// Keyword of the op's name. In decorator form it is left out when the function has that name.
    pub op: String,
    /// Keyword of the implementation, in call form.
    pub implementation: String,
    /// Keyword of the list of mutated arguments. In decorator form an empty list is left out.
    pub mutated: String,
    /// Keyword of the fake implementation.
    pub fake: String,
    /// Keyword that names a parameter whose `empty_like` is the only result, if there is such a shorthand.
    pub fake_like: Option<String>,
    /// Ops are registered for one device: no CPU branch, and at least one tensor in every call.
    pub one_device: bool,
}
