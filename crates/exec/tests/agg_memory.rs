//! What groups take at most while they grow and spill under a limit, as an allocator that counts sees it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::Buffer;
use columnar_exec::agg::{AggKind, AggSpec, Aggregator, GroupSpec, NumType, ValueType};
use columnar_exec::{Column, Data, Span, Strings};

/// Counts the bytes of the thread's allocations. A block that is lengthened counts by its new length, as the server's
/// allocator moves the pages of a large one.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(add: usize, remove: usize) {
    let now = NOW.fetch_add(add, Ordering::Relaxed).wrapping_add(add).wrapping_sub(remove);
    NOW.fetch_sub(remove, Ordering::Relaxed);
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: all is passed on to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as the caller's.
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as the caller's.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BATCH: usize = 16_384;
const BATCHES: usize = 40;
const LIMIT: usize = 8 << 20;
/// Beside the limit: the batch, and the lists of a spill.
const BESIDE: usize = 2 << 20;

fn mixed(row: usize) -> u64 {
    (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn ints(from: usize, modulus: u64) -> Column {
    let values = (from..from + BATCH).map(|row| (mixed(row) % modulus) as i64);
    Column::new(Data::Int(Arc::new(values.collect())), BATCH)
}

/// Strings of 20 to 60 bytes.
fn texts(from: usize) -> Column {
    let mut data = Vec::new();
    let mut spans = Vec::new();
    for row in from..from + BATCH {
        let start = data.len() as u32;
        data.extend_from_slice(format!("{:020}", mixed(row)).as_bytes());
        data.resize(data.len() + row % 41, b'x');
        spans.push(Span { start, len: data.len() as u32 - start });
    }
    let strings = Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) };
    Column::new(Data::Bytes(strings), BATCH)
}

/// Takes distinct rows in under the limit; gives the peak and the number of spills.
fn peak(
    spec: &Arc<GroupSpec>,
    batch: &dyn Fn(usize) -> (Vec<Column>, Vec<Option<Column>>),
) -> (usize, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut aggregator = Aggregator::new(Arc::clone(spec));
    let filters = vec![None; spec.aggregates.len()];
    let (mut spills, mut bytes) = (0, 0);
    for at in 0..BATCHES {
        let (keys, args) = batch(at * BATCH);
        aggregator.consume(&keys, &args, &filters, BATCH).expect("the data is what the spec says");
        if aggregator.outgrows(LIMIT, BATCH) {
            let mut out = |_, piece: Vec<u8>| {
                bytes += piece.len();
                Ok(())
            };
            aggregator.spill(1, 32, &mut out).expect("nothing stops it");
            spills += 1;
        }
    }
    assert!(bytes > 0, "nothing was spilled");
    (PEAK.load(Ordering::Relaxed) - before, spills)
}

// One test, since the count is of the whole process.
#[test]
fn growth_and_spills_stay_within_the_limit() {
    let far = u64::MAX / 2;
    let distinct = AggSpec { distinct: Some(ValueType::Int), ..AggSpec::plain(AggKind::Count) };
    let sum = AggSpec::plain(AggKind::Sum(NumType::Int));
    let star = AggSpec::plain(AggKind::CountStar);
    type Shape =
        (&'static str, Arc<GroupSpec>, Box<dyn Fn(usize) -> (Vec<Column>, Vec<Option<Column>>)>);
    let shapes: [Shape; 5] = [
        (
            "integers",
            GroupSpec::new(vec![ValueType::Int], vec![star, sum]),
            Box::new(move |from| (vec![ints(from, far)], vec![None, Some(ints(from, 1000))])),
        ),
        (
            "strings",
            GroupSpec::new(vec![ValueType::Bytes], vec![star]),
            Box::new(|from| (vec![texts(from)], vec![None])),
        ),
        (
            "keys alone",
            GroupSpec::new(vec![ValueType::Int], vec![]),
            Box::new(move |from| (vec![ints(from, far)], vec![])),
        ),
        (
            "distinct values",
            GroupSpec::new(vec![], vec![distinct]),
            Box::new(move |from| (vec![], vec![Some(ints(from, far))])),
        ),
        (
            "distinct values of groups",
            GroupSpec::new(vec![ValueType::Int], vec![distinct]),
            Box::new(move |from| (vec![ints(from, 1000)], vec![Some(ints(from, far))])),
        ),
    ];
    for (name, spec, batch) in &shapes {
        let (peak, spills) = peak(spec, batch);
        println!("{name}: peak {} kB, {spills} spills", peak >> 10);
        assert!(peak <= LIMIT + BESIDE, "{name}: {peak} bytes");
        // It does not spill long before it has to.
        assert!(spills <= BATCHES / 4, "{name}: {spills} spills");
    }
}
