//! `ctx completions`: scripts with which shells complete the command line.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::emit;
use crate::failure::Failure;

pub(crate) const HELP: &str = "\
Writes a script to standard output that completes commands, flags, and values from fixed lists. It
is for this version of ctx: write it again after an update.

Examples:
  ctx completions bash > ~/.local/share/bash-completion/completions/ctx
  ctx completions zsh > ~/.zfunc/_ctx        # with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  ctx completions fish > ~/.config/fish/completions/ctx.fish
  ctx completions powershell | Out-String | Invoke-Expression    # as a line of $PROFILE
  eval (ctx completions elvish | slurp)        # as a line of ~/.config/elvish/rc.elv";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the verb.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    emit::text(&String::from_utf8_lossy(&script))
}
