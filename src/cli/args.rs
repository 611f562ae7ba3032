//! The command line as it is typed.

use crate::finding::Level;
use crate::project::cache::Place;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Finds kernel launches that bypass PyTorch's dispatcher, infers what they mutate, and registers them as ops.
#[derive(Debug, Parser)]
#[command(name = "opwright", version, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Report (and fix) launches that bypass the dispatcher
    Check(Check),
    /// List kernels, launching functions and ops, with what each reads and writes
    Inventory(Inventory),
    /// Tell which kernels of a profiler trace have no shapes, why, and where they are launched
    Trace(Trace),
    /// Print a rule's page
    Explain(Explain),
    /// Print what is believed of a function of another library, and which file says so
    Knowledge(Knowledge),
    /// Print the resolved settings and where each comes from
    Config(Config),
    /// Accept the findings of today, so that only new ones are reported
    Baseline(Baseline),
    /// Remove the cache: of all projects, or of the one that --root names
    Clean(Clean),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
    /// Serve an editor over standard input and output (language server protocol)
    Server(Server),
}

/// Options that every command takes.
#[derive(Args, Debug, Default)]
pub(super) struct Common {
    /// The project; default: the nearest folder upward with a configuration or a repository
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Neither read nor write the cache
    #[arg(long)]
    pub(super) no_cache: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: Color,
}

impl Common {
    /// Where the cache lies, if it is to be used.
    pub(super) fn cache(&self) -> Option<Place> {
        if self.no_cache { None } else { Place::of_user() }
    }
}

#[derive(Args, Debug)]
pub(super) struct Check {
    /// Files and folders to report on; the whole project is analysed
    #[arg(value_name = "PATHS")]
    pub(super) paths: Vec<PathBuf>,
    /// Apply safe fixes
    #[arg(long)]
    pub(super) fix: bool,
    /// With --fix or --diff: apply unsafe fixes too
    #[arg(long = "unsafe")]
    pub(super) unsafe_fixes: bool,
    /// Print what --fix would change, and change nothing
    #[arg(long)]
    pub(super) diff: bool,
    /// Run only this rule or group (can be repeated, or a list with commas)
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// How launchers become ops: auto, custom-op, triton-op, library, or a framework's name (vllm, sglang)
    #[arg(long, value_name = "STYLE")]
    pub(super) style: Option<String>,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) output_format: Format,
    /// The text of this file comes from standard input
    #[arg(long, value_name = "FILE")]
    pub(super) stdin_filename: Option<PathBuf>,
    /// The lowest level that makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "LEVEL")]
    pub(super) fail_on: FailOn,
    /// Exit with 0 whatever is found
    #[arg(long)]
    pub(super) exit_zero: bool,
    /// With --fix: exit with 1 when something was fixed
    #[arg(long)]
    pub(super) exit_non_zero_on_fix: bool,
    /// Print how often each rule fired, instead of the findings
    #[arg(long)]
    pub(super) statistics: bool,
    /// Report only what the files that changed since this git revision cause, in them or elsewhere
    #[arg(long, value_name = "REV")]
    pub(super) since: Option<String>,
    /// Accept the findings in this file; default: the configured one
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Leave out excluded files even when they are named (for hooks that pass file names)
    #[arg(long)]
    pub(super) force_exclude: bool,
    /// Print which files are checked, and why others are not, and stop
    #[arg(long)]
    pub(super) show_files: bool,
    /// Print also what could not be known, and why
    #[arg(long)]
    pub(super) show_unknown: bool,
    /// Print how long each stage took, to standard error
    #[arg(long)]
    pub(super) timings: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct Baseline {
    /// `write` accepts every finding of today; `prune` forgets those that are gone
    #[arg(value_enum, value_name = "ACTION")]
    pub(super) action: BaselineAction,
    /// The baseline's file; default: the configured one, else opwright-baseline.json at the root
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BaselineAction {
    Write,
    Prune,
}

#[derive(Args, Debug)]
pub(super) struct Clean {
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(super) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(super) struct Man {
    /// The command that the page is about; default: opwright itself
    #[arg(value_name = "COMMAND")]
    pub(super) command: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct Inventory {
    /// Files and folders to list; the whole project is analysed
    #[arg(value_name = "PATHS")]
    pub(super) paths: Vec<PathBuf>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) output_format: TableFormat,
    /// How launchers would become ops
    #[arg(long, value_name = "STYLE")]
    pub(super) style: Option<String>,
    /// Print how long each stage took, to standard error
    #[arg(long)]
    pub(super) timings: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct Trace {
    /// A trace of torch.profiler (.json, .json.gz), or a folder of ranks
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// A second trace: what gained or lost shapes since the first
    #[arg(value_name = "AFTER", conflicts_with_all = ["shapes", "source"])]
    pub(super) after: Option<PathBuf>,
    /// The project whose code launched: its functions, findings and fixes are shown (can be repeated)
    #[arg(long, value_name = "DIR")]
    pub(super) source: Vec<PathBuf>,
    /// A trace of the run that captured the graphs: shapes of replayed kernels are taken from it
    #[arg(long, value_name = "FILE")]
    pub(super) capture: Option<PathBuf>,
    /// Write each kernel event with its op, shapes, dtypes, strides and frame to this file
    #[arg(long, value_name = "OUT.json")]
    pub(super) shapes: Option<PathBuf>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) output_format: TraceFormat,
    /// How launchers would become ops
    #[arg(long, value_name = "STYLE")]
    pub(super) style: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct Explain {
    /// The rule; without one, all rules are listed
    #[arg(value_name = "RULE")]
    pub(super) rule: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct Knowledge {
    /// A qualified name, such as torch.add or torch.library.custom_op
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct Server {
    /// Taken for the sake of editors that pass it; standard input and output are the only way
    #[arg(long, hide = true)]
    pub(super) stdio: bool,
}

#[derive(Args, Debug)]
pub(super) struct Config {
    /// Print the JSON schema of the configuration instead, for editors that complete it
    #[arg(long)]
    pub(super) schema: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Full,
    Concise,
    Json,
    Sarif,
    Github,
    Gitlab,
    Junit,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    #[default]
    Text,
    Json,
    Html,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum TraceFormat {
    #[default]
    Text,
    Json,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Note,
    Warning,
    Error,
}

impl FailOn {
    pub(super) fn level(self) -> Level {
        match self {
            Self::Note => Level::Note,
            Self::Warning => Level::Warning,
            Self::Error => Level::Error,
        }
    }
}
