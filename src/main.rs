//! Arguments in, exit code out.

fn main() -> std::process::ExitCode {
    opwright::cli::run(std::env::args_os(), opwright::lsp::serve)
}
