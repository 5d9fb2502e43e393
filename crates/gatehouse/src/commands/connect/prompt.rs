//! Questions to the user: lines, and secrets that are not echoed.

use std::io::{BufRead, IsTerminal as _};

use domain::secret::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The input of a user; a terminal does not echo secrets.
pub struct Prompt<'a> {
    input: &'a mut dyn BufRead,
    is_terminal: bool,
}

impl<'a> Prompt<'a> {
    pub fn of_terminal(input: &'a mut dyn BufRead) -> Self {
        Self { input, is_terminal: std::io::stdin().is_terminal() }
    }

    #[cfg(test)]
    pub fn of_text(input: &'a mut dyn BufRead) -> Self {
        Self { input, is_terminal: false }
    }

    /// Asks for a line; an empty one selects the default.
    pub fn line(&mut self, question: &str, default: Option<&str>) -> Result<String, String> {
        let hint = default.map(|default| format!(" [{default}]")).unwrap_or_default();
        match (self.ask(&format!("{question}{hint}: "))?, default) {
            (line, _) if !line.is_empty() => Ok(line),
            (_, Some(default)) => Ok(default.to_owned()),
            (_, None) => Err(format!("{question} is missing.")),
        }
    }

    /// Asks for a secret, without echo.
    pub fn secret(&mut self, question: &str) -> Result<Secret, String> {
        let echo = self.is_terminal.then(Silence::begin).flatten();
        let answer = self.ask(&format!("{question} (not shown): "));
        if echo.is_some() {
            say("\n");
        }
        drop(echo);
        match answer? {
            line if line.is_empty() => Err(format!("{question} is missing: type it, or use --key-file.")),
            line => Ok(Secret::new(line)),
        }
    }

    fn ask(&mut self, question: &str) -> Result<String, String> {
        say(question);
        let mut line = String::new();
        self.input.read_line(&mut line).map_err(|error| format!("The answer cannot be read: {error}"))?;
        Ok(line.trim().to_owned())
    }
}

#[expect(clippy::print_stderr, reason = "a command speaks to whoever typed it")]
fn say(text: &str) {
    eprint!("{text}");
}

/// Switches the echo of the terminal off until it is dropped.
struct Silence(Termios);

impl Silence {
    fn begin() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
