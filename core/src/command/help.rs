//! Short help: the common options of a command.

use clap::Command;

/// Leaves the arguments with the ids `common`, and those without a flag, in the short help (`-h`) of a command; `--help` shows
/// all.
pub fn with_short_help(command: Command, common: &[&str]) -> Command {
    debug_assert!(
        common.iter().all(|id| command.get_arguments().any(|arg| arg.get_id() == id)),
        "an argument of {common:?} is missing in {}",
        command.get_name()
    );
    command.mut_args(|arg| {
        let is_hidden = !arg.is_positional() && !common.contains(&arg.get_id().as_str());
        arg.hide_short_help(is_hidden)
    })
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn rare_options_are_in_the_long_help_alone() {
        let command = Command::new("c").arg(Arg::new("input")).args(["common", "rare"].map(|id| Arg::new(id).long(id)));
        let mut command = with_short_help(command, &["common"]);
        let short = command.render_help().to_string();
        assert!(short.contains("--common") && short.contains("[input]") && !short.contains("--rare"), "{short}");
        let long = command.render_long_help().to_string();
        assert!(long.contains("--common") && long.contains("--rare"), "{long}");
    }
}
