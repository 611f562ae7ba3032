//! Arguments in, exit code out.

#[cfg(all(unix, target_pointer_width = "64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    opwright::cli::run(std::env::args_os(), opwright::lsp::serve)
}
