//! `pgcolumnar-bench-gen`: the benchmark's data, made from a seed.
//!
//! Row `i` of a table is a function of the seed, the number of rows and `i`, so chunks are made by several threads in
//! any order and the stream is the same for every number of threads.
//!
//! ```text
//! options -> dataset (web | cpu | tpch) --chunks of rows--> pipeline -> COPY text or CSV
//!                     |                                        |
//!                     +-> schema, indexes                      +-> checksum (of the text format, whatever is written)
//! ```

mod calendar;
mod cpu;
mod encoder;
mod flights;
mod options;
mod pipeline;
mod random;
mod schema;
mod tpch;
mod web;
mod zipf;

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::options::{Command, Dataset, Generate, Output};
use crate::pipeline::{Chunks, Summary};

fn main() -> ExitCode {
    match options::parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("pgcolumnar-bench-gen: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<(), String> {
    let text = match command {
        Command::Help => options::USAGE.into(),
        Command::Schema { set, table } => schema::create(set.tables(), table.as_deref())?,
        Command::Indexes { set, table, variant } => {
            schema::indexes(set.tables(), table.as_deref(), variant)?
        }
        Command::Tables { set } => set.tables().iter().map(|t| format!("{}\n", t.name)).collect(),
        Command::Generate(generate) => return make(&generate),
    };
    io::stdout().write_all(text.as_bytes()).map_err(|e| format!("cannot write: {e}"))
}

fn make(options: &Generate) -> Result<(), String> {
    match &options.dataset {
        Dataset::Web => emit(&web::Web::new(options.rows, options.seed, options.stride), options),
        Dataset::Cpu { hosts } => {
            emit(&cpu::Cpu::new(options.rows, *hosts, options.seed, options.stride)?, options)
        }
        Dataset::Tpch { scale, table } => emit(&tpch::Tpch::new(table, *scale)?, options),
    }
}

/// Writes the data and, where asked, the checksum: to stdout, or to stderr when stdout carries the data.
fn emit(chunks: &impl Chunks, options: &Generate) -> Result<(), String> {
    let failed = |e: io::Error| format!("cannot write: {e}");
    let mut to_stdout = false;
    let mut sink: Box<dyn Write> = match &options.output {
        Output::Nothing => Box::new(io::sink()),
        Output::Stdout => {
            to_stdout = true;
            Box::new(io::stdout().lock())
        }
        Output::File(path) => Box::new(
            File::create(path).map_err(|e| format!("cannot create {}: {e}", path.display()))?,
        ),
    };
    let summary =
        match pipeline::run(chunks, options.format, options.threads, options.checksum, &mut sink) {
            // The reader has seen enough: `... | head`.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other.map_err(failed)?,
        };
    drop(sink);
    if let Summary { rows, checksum: Some(checksum) } = summary {
        let line = format!("rows {rows} checksum {checksum:032x}\n");
        if to_stdout {
            io::stderr().write_all(line.as_bytes()).map_err(failed)?;
        } else {
            io::stdout().write_all(line.as_bytes()).map_err(failed)?;
        }
    }
    Ok(())
}
