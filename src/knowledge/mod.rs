//! Facts about other people's APIs, read from the TOML files in `rules/`.

pub mod frameworks;
pub mod op_style;
pub mod torch;
pub mod triton;

/// All that is known of other people's APIs.
#[derive(Debug)]
pub struct Knowledge {
    /// PyTorch's functions, methods and attributes.
    pub torch: torch::Torch,
    /// `triton.language`.
    pub triton: triton::Triton,
    /// Frameworks, sorted by name; `torch` itself is one (its registrars).
    pub frameworks: Vec<frameworks::Framework>,
}
