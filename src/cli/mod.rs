//! Arguments and one file per subcommand.

/// Runs the command line; returns the exit code (0 clean, 1 findings, 2 could not do the job).
pub fn run(_args: impl IntoIterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
