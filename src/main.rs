//! Arguments in, exit code out.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    opwright::cli::run(std::env::args_os())
}
