//! Command-line options.

/// What `--help` prints.
pub const USAGE: &str = "\
pgcolumnar-oracle: the same random query on heap, on pgcolumnar vectorized, and on pgcolumnar not vectorized

  --connect STRING    connection string of a superuser (required), \"host=/tmp port=5432 user=postgres\" say;
                      databases named oracle_* are made and dropped there
  --seed N            seed (default 1)
  --queries N         stop after N queries (default: no limit but the time)
  --seconds N         stop after N seconds (default 60)
  --tables N          pairs of tables in an epoch (default 4)
  --epoch-queries N   queries before the tables are made anew (default 800)
  --first-epoch N     begin with the N-th set of tables of the seed (default 0)
  --only-query E:Q    run the mutations of epoch E up to query Q, then that query alone, and show what it does
  --require-nodes     fail unless a custom node of pgcolumnar was in a plan
  --reports N         differences reported in full (default 20)
  --show              print every query
  --self-test         put wrong rows into the columnar tables; exit 0 only if each fault is found
";

/// Parsed options.
#[derive(Clone, Debug)]
pub struct Options {
    pub connect: String,
    pub seed: u64,
    pub queries: u64,
    pub seconds: u64,
    pub tables: usize,
    pub epoch_queries: u64,
    pub first_epoch: u64,
    /// Epoch and number of the only query to run.
    pub only: Option<(u64, u64)>,
    pub require_nodes: bool,
    pub reports: u64,
    pub show: bool,
    pub self_test: bool,
}

impl Options {
    /// Parses the arguments after the program's name.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            connect: String::new(),
            seed: 1,
            queries: u64::MAX,
            seconds: 60,
            tables: 4,
            epoch_queries: 800,
            first_epoch: 0,
            only: None,
            require_nodes: false,
            reports: 20,
            show: false,
            self_test: false,
        };
        let mut seconds_given = false;
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--connect" => options.connect = value()?,
                "--seed" => options.seed = number(&name, &value()?)?,
                "--queries" => options.queries = number(&name, &value()?)?,
                "--seconds" => {
                    options.seconds = number(&name, &value()?)?;
                    seconds_given = true;
                }
                "--tables" => options.tables = number(&name, &value()?)?.clamp(1, 20) as usize,
                "--epoch-queries" => options.epoch_queries = number(&name, &value()?)?.max(1),
                "--first-epoch" => options.first_epoch = number(&name, &value()?)?,
                "--only-query" => {
                    let value = value()?;
                    let (epoch, query) = value.split_once(':').ok_or("--only-query EPOCH:QUERY")?;
                    options.only = Some((number(&name, epoch)?, number(&name, query)?));
                }
                "--require-nodes" => options.require_nodes = true,
                "--reports" => options.reports = number(&name, &value()?)?,
                "--show" => options.show = true,
                "--self-test" => options.self_test = true,
                "--help" => return Err(USAGE.into()),
                _ => return Err(format!("unknown option {name}\n{USAGE}")),
            }
        }
        if options.connect.is_empty() {
            return Err(format!("--connect is required\n{USAGE}"));
        }
        // A number of queries alone is a run without a limit of time.
        if options.queries != u64::MAX && !seconds_given {
            options.seconds = u64::from(u32::MAX);
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

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(words.iter().map(|w| (*w).to_string()))
    }

    #[test]
    fn parses() {
        let options =
            parse(&["--connect", "host=/x port=1", "--seed", "9", "--only-query", "2:17"])
                .expect("valid");
        assert_eq!((options.seed, options.only), (9, Some((2, 17))));
        assert!(parse(&["--seed", "1"]).is_err(), "a connection is required");
        assert!(parse(&["--connect", "x", "--only-query", "7"]).is_err());
    }

    #[test]
    fn queries_alone_set_no_limit_of_time() {
        assert!(parse(&["--connect", "x", "--queries", "5"]).expect("valid").seconds > 1_000_000);
        let both = parse(&["--connect", "x", "--queries", "5", "--seconds", "3"]).expect("valid");
        assert_eq!((both.queries, both.seconds), (5, 3));
    }
}
