//! A private cluster: made, started, stopped cleanly or at once, and its backends killed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

use crate::draw::Draw;
use crate::options::Options;
use crate::record::Failure;

/// How to stop.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    Fast,
    Immediate,
}

/// A running cluster; dropping it stops it.
pub struct Cluster {
    bindir: PathBuf,
    pub workdir: PathBuf,
    port: u16,
    /// Run the server as `postgres` because the tester is root.
    as_postgres: bool,
    /// Whether autovacuum was drawn on.
    pub autovacuum: bool,
}

impl Cluster {
    /// Makes and starts a cluster with drawn settings.
    pub fn create(options: &Options, draw: &mut Draw) -> Result<Self, Failure> {
        let as_postgres = id(&["-u"])? == 0;
        fs::create_dir_all(&options.workdir)?;
        if as_postgres {
            chown(
                &options.workdir,
                Some(id(&["-u", "postgres"])?),
                Some(id(&["-g", "postgres"])?),
            )?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let autovacuum = draw.chance(50);
        let cluster = Self {
            bindir: options.bindir.clone(),
            workdir: options.workdir.clone(),
            port,
            as_postgres,
            autovacuum,
        };
        let data = cluster.data();
        cluster.tool(
            "initdb",
            &["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"],
        )?;
        let mut settings = fs::read_to_string(cluster.workdir.join("data/postgresql.conf"))?;
        settings += &cluster.settings(options, draw);
        fs::write(cluster.workdir.join("data/postgresql.conf"), settings)?;
        cluster.start()?;
        Ok(cluster)
    }

    fn settings(&self, options: &Options, draw: &mut Draw) -> String {
        let mut lines = vec![
            "listen_addresses = ''".to_string(),
            format!("port = {}", self.port),
            format!("unix_socket_directories = '{}'", self.workdir.display()),
            format!("fsync = {}", if options.crash { "on" } else { "off" }),
            "max_prepared_transactions = 8".into(),
            "max_connections = 30".into(),
            "timezone = 'UTC'".into(),
            "datestyle = 'ISO'".into(),
            // Locks are waited for so briefly that a blocked statement fails; autovacuum gives way even sooner.
            "lock_timeout = '50ms'".into(),
            "deadlock_timeout = '5ms'".into(),
            // What a statement that fails so was waiting for is in the log then.
            "log_lock_waits = on".into(),
            "statement_timeout = '60s'".into(),
            "max_wal_size = '512MB'".into(),
            "log_line_prefix = '%m [%p] '".into(),
            "log_min_messages = warning".into(),
            "log_min_error_statement = panic".into(),
            format!("shared_buffers = '{}'", draw.pick(&["2MB", "16MB", "128MB"])),
            format!("work_mem = '{}'", draw.pick(&["64kB", "1MB", "16MB"])),
            format!("checkpoint_timeout = '{}'", draw.pick(&["30s", "5min"])),
            format!("full_page_writes = {}", draw.pick(&["on", "on", "off"])),
            format!("max_parallel_workers_per_gather = {}", draw.pick(&["0", "2"])),
            format!("default_toast_compression = '{}'", draw.pick(&["pglz", "lz4"])),
            format!("autovacuum = {}", if self.autovacuum { "on" } else { "off" }),
        ];
        if self.autovacuum {
            lines.push("autovacuum_naptime = '1s'".into());
            lines.push(format!("autovacuum_vacuum_threshold = {}", draw.pick(&["1", "50"])));
            lines
                .push(format!("autovacuum_vacuum_insert_threshold = {}", draw.pick(&["1", "500"])));
            lines.push("autovacuum_vacuum_scale_factor = 0".into());
            lines.push("autovacuum_vacuum_cost_delay = 0".into());
            if draw.chance(40) {
                lines.push("vacuum_freeze_min_age = 0".into());
            }
        }
        if draw.chance(30) {
            lines.push("wal_level = minimal".into());
            lines.push("max_wal_senders = 0".into());
        } else {
            lines.push(format!("wal_level = {}", draw.pick(&["replica", "logical"])));
        }
        if let Some(library) = &options.preload {
            lines.push(format!("shared_preload_libraries = '{library}'"));
        }
        for setting in &options.set {
            if let Some((name, value)) = setting.split_once('=') {
                lines.push(format!("{name} = '{value}'"));
            }
        }
        format!("\n{}\n", lines.join("\n"))
    }

    fn data(&self) -> String {
        self.workdir.join("data").display().to_string()
    }

    /// The server's log.
    pub fn log_path(&self) -> PathBuf {
        self.workdir.join("server.log")
    }

    /// Starts the server and waits until it accepts connections.
    pub fn start(&self) -> Result<(), Failure> {
        let log = self.log_path().display().to_string();
        self.tool("pg_ctl", &["-D", &self.data(), "-l", &log, "-w", "-t", "120", "start"])
    }

    /// Stops the server.
    pub fn stop(&self, how: Stop) -> Result<(), Failure> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        self.tool("pg_ctl", &["-D", &self.data(), "-m", mode, "-w", "-t", "120", "stop"])
    }

    /// `kill -9` of one backend; the postmaster then restarts the others.
    pub fn kill(&self, pid: i32) -> Result<(), Failure> {
        let status = Command::new("kill").args(["-9", &pid.to_string()]).output()?;
        if status.status.success() {
            Ok(())
        } else {
            Err(Failure::new("kill -9 failed", String::from_utf8_lossy(&status.stderr)))
        }
    }

    /// Connects, waiting for a recovery to end.
    pub fn connect(&self, database: &str) -> Result<Client, Failure> {
        let began = Instant::now();
        loop {
            let result = Config::new()
                .host_path(&self.workdir)
                .port(self.port)
                .user("postgres")
                .dbname(database)
                .application_name("difftest")
                .connect(NoTls);
            match result {
                Ok(client) => return Ok(client),
                Err(error) if began.elapsed() > Duration::from_secs(90) => {
                    return Err(Failure::new(
                        "cannot connect",
                        format!("{error:?}\n{}", self.log_tail()),
                    ));
                }
                Err(_) => sleep(Duration::from_millis(20)),
            }
        }
    }

    /// The end of the server's log.
    pub fn log_tail(&self) -> String {
        let log = read_lossy(&self.log_path());
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }

    /// Lines of the server's log that no run may have: assertions, crashes other than our kill -9, leaks.
    pub fn alarming_lines(&self) -> Vec<String> {
        const ALARMS: &[&str] = &[
            "TRAP:",
            "PANIC:",
            "by signal 6",
            "by signal 11",
            "by signal 7",
            "leak",
            "resource was not closed",
            "invalid page",
            "panicked",
        ];
        let log = read_lossy(&self.log_path());
        log.lines()
            .filter(|l| ALARMS.iter().any(|a| l.contains(a)))
            .take(20)
            .map(String::from)
            .collect()
    }

    fn tool(&self, name: &str, arguments: &[&str]) -> Result<(), Failure> {
        let program = self.bindir.join(name);
        let mut command = if self.as_postgres {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(&program);
            command
        } else {
            Command::new(&program)
        };
        let output_path = self.workdir.join(format!("{name}.out"));
        let output = fs::File::create(&output_path)?;
        let status = command
            .args(arguments)
            .current_dir(&self.workdir)
            .env_remove("PGDATABASE")
            .env_remove("PGOPTIONS")
            .stdout(output.try_clone()?)
            .stderr(output)
            .status()?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(
            format!("{name} failed"),
            format!("{}\n{}", read_lossy(&output_path), self.log_tail()),
        ))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The run is over; a server that does not stop is reported by the next user of the directory.
        let _ = self.stop(Stop::Immediate);
    }
}

fn read_lossy(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn id(arguments: &[&str]) -> Result<u32, Failure> {
    let output = Command::new("id").args(arguments).output()?;
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .map_err(|e| Failure::new("cannot find the user postgres", e))
}
