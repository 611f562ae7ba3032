//! Pages and scripts that are made out of the arguments: completions, the manual.

use super::Output;
use super::args::{Cli, Completions, Man};
use crate::project::Failure;
use clap::CommandFactory;

/// Prints a completion script.
pub(super) fn completions(args: &Completions, out: &mut Output) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "opwright", &mut text);
    out.write(&String::from_utf8_lossy(&text));
    Ok(0)
}

/// Prints the manual page of a command.
pub(super) fn man(args: &Man, out: &mut Output) -> Result<u8, Failure> {
    let mut all = Cli::command();
    all.build();
    let command = match &args.command {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            found.ok_or_else(|| Failure(format!("unknown command `{name}`")))?
        }
    };
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut text);
    rendered.map_err(|error| Failure(format!("cannot write the page: {error}")))?;
    out.write(&String::from_utf8_lossy(&text));
    Ok(0)
}
