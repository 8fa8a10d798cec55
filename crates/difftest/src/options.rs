//! Command-line options.

use std::path::PathBuf;

/// What `--help` prints.
pub const USAGE: &str = "\
pgcolumnar-difftest: the same random SQL on heap and on a table access method

  --bindir DIR        PostgreSQL's bin directory (required)
  --am NAME           access method of the tested side (default heap: the tester against itself)
  --seed N            seed (default 1)
  --seconds N         run for N seconds (default 60)
  --steps N           stop after N steps (default: no limit)
  --first-epoch N     begin with the N-th set of tables of the seed (default 0)
  --crash on|off      restarts, immediate stops and kill -9 (default off)
  --workdir DIR       cluster and logs; must not exist (default: under the temporary directory)
  --preload LIB       shared_preload_libraries
  --set NAME=VALUE    a server setting, repeatable
  --draw NAME=A|B|C   a setting drawn for each comparison on the tested side, repeatable
  --refuses brin      the tested side refuses BRIN indexes by design: checked, then none are drawn
  --schemas N         make N sets of tables, run no steps, compare them empty
  --replay-log FILE   where every statement is written (default: replay.sql in the work directory)
  --keep              keep the work directory after success
  --self-test         inject a wrong row, a lost update, a lost lock; exit 0 only if each is found
";

/// Parsed options.
#[derive(Clone, Debug)]
pub struct Options {
    pub bindir: PathBuf,
    pub am: String,
    pub seed: u64,
    pub seconds: u64,
    pub steps: u64,
    pub first_epoch: u64,
    pub crash: bool,
    pub workdir: PathBuf,
    pub preload: Option<String>,
    pub set: Vec<String>,
    /// Setting and its choices.
    pub draw: Vec<(String, Vec<String>)>,
    /// Sets of tables to make without running a step; 0 for an ordinary run.
    pub schemas: u64,
    /// BRIN indexes must be refused by the tested side.
    pub refuses_brin: bool,
    pub replay_log: Option<PathBuf>,
    pub keep: bool,
    pub self_test: bool,
}

impl Options {
    /// Parses the arguments after the program's name.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            bindir: PathBuf::new(),
            am: "heap".into(),
            seed: 1,
            seconds: 60,
            steps: u64::MAX,
            first_epoch: 0,
            crash: false,
            workdir: std::env::temp_dir()
                .join(format!("pgcolumnar-difftest-{}", std::process::id())),
            preload: None,
            set: Vec::new(),
            draw: Vec::new(),
            schemas: 0,
            refuses_brin: false,
            replay_log: None,
            keep: false,
            self_test: false,
        };
        let mut arguments = arguments;
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--bindir" => options.bindir = value()?.into(),
                "--am" => options.am = value()?,
                "--seed" => options.seed = number(&name, &value()?)?,
                "--seconds" => options.seconds = number(&name, &value()?)?,
                "--steps" => options.steps = number(&name, &value()?)?,
                "--first-epoch" => options.first_epoch = number(&name, &value()?)?,
                "--crash" => options.crash = value()? == "on",
                "--workdir" => options.workdir = value()?.into(),
                "--preload" => options.preload = Some(value()?),
                "--set" => options.set.push(value()?),
                "--draw" => {
                    let value = value()?;
                    let (name, choices) = value.split_once('=').ok_or("--draw NAME=A|B")?;
                    options
                        .draw
                        .push((name.into(), choices.split('|').map(String::from).collect()));
                }
                "--schemas" => options.schemas = number(&name, &value()?)?,
                "--refuses" => match value()?.as_str() {
                    "brin" => options.refuses_brin = true,
                    other => return Err(format!("--refuses knows brin only, not {other}")),
                },
                "--replay-log" => options.replay_log = Some(value()?.into()),
                "--keep" => options.keep = true,
                "--self-test" => options.self_test = true,
                _ => return Err(format!("unknown option {name}\n{USAGE}")),
            }
        }
        if options.bindir.as_os_str().is_empty() {
            return Err(format!("--bindir is required\n{USAGE}"));
        }
        Ok(options)
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name}: {value} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn parses() {
        let words =
            "--bindir /x --seed 9 --draw a.b=on|off --crash on".split(' ').map(String::from);
        let options = Options::parse(words).expect("valid options");
        assert_eq!((options.seed, options.crash), (9, true));
        assert_eq!(
            options.draw,
            vec![("a.b".to_string(), vec!["on".to_string(), "off".to_string()])]
        );
        assert!(Options::parse(["--seed".to_string()].into_iter()).is_err());
    }
}
