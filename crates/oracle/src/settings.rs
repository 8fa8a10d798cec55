//! Settings drawn for a stretch of queries; every arm runs under them.

use difftest::draw::Draw;

/// A batch that puts the settings in force, whatever was in force before.
pub fn draw(draw: &mut Draw) -> String {
    let mut set = vec![
        ("statement_timeout", "10s".to_string()),
        ("pgcolumnar.max_threads", pick(draw, &["0", "1", "2", "2"])),
        ("work_mem", pick(draw, &["64kB", "64kB", "256kB", "4MB", "64MB"])),
        ("hash_mem_multiplier", pick(draw, &["1", "2", "4"])),
        ("plan_cache_mode", pick(draw, &["auto", "force_generic_plan", "force_custom_plan"])),
        ("TimeZone", pick(draw, &["UTC", "America/New_York", "Asia/Kolkata"])),
        ("pgcolumnar.cache_size", pick(draw, &["64kB", "16MB"])),
    ];
    for (name, percent) in [
        ("enable_hashagg", 20),
        ("enable_sort", 12),
        ("enable_hashjoin", 15),
        ("enable_mergejoin", 15),
        // A nested loop chosen by a bad estimate reads a table thousands of times.
        ("enable_nestloop", 60),
        ("enable_material", 15),
        ("enable_memoize", 15),
        ("enable_indexscan", 15),
        ("enable_indexonlyscan", 15),
        ("enable_bitmapscan", 20),
        ("enable_incremental_sort", 10),
    ] {
        if draw.chance(percent) {
            set.push((name, "off".into()));
        }
    }
    if draw.chance(25) {
        set.push(("enable_partitionwise_aggregate", "on".into()));
    }
    if draw.chance(8) {
        set.push(("max_parallel_workers_per_gather", "2".into()));
        for name in ["parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"] {
            set.push((name, "0".into()));
        }
    } else {
        set.push(("max_parallel_workers_per_gather", "0".into()));
    }
    let set: Vec<String> =
        set.into_iter().map(|(name, value)| format!("SET {name} = '{value}'")).collect();
    format!("RESET ALL; {}", set.join("; "))
}

fn pick(draw: &mut Draw, from: &[&str]) -> String {
    (*draw.pick(from)).to_string()
}
