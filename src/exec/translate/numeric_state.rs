//! Transition states of numeric's aggregates as their functions send them between processes (numeric.c).

use columnar_exec::numeric;

/// What numeric_serialize() gives for a state without NaN and infinities.
pub fn serialized(count: i64, sum: (i128, u8), squares: (i128, u8)) -> Vec<u8> {
    let mut out = count.to_be_bytes().to_vec();
    put_number(&mut out, sum);
    put_number(&mut out, squares);
    put_counts(&mut out, count, sum.1, 0);
    out
}

/// What numeric_avg_serialize() gives for the sum of so many values, of which NaN makes the sum NaN.
pub fn sum(count: i64, (sum, scale): (i128, u8)) -> Vec<u8> {
    // N counts what is added up. With one NaN among the values the rest is of no account.
    let (numbers, nans, sum) = if sum == numeric::NAN { (0, count, 0) } else { (count, 0, sum) };
    let mut out = numbers.to_be_bytes().to_vec();
    put_number(&mut out, (sum, scale));
    put_counts(&mut out, numbers, scale, nans);
    out
}

/// What int8_avg_serialize() gives for a sum, and numeric_poly_serialize() for a sum and a sum of squares.
pub fn poly(count: i64, sums: &[i128]) -> Vec<u8> {
    let mut out = count.to_be_bytes().to_vec();
    sums.iter().for_each(|sum| put_number(&mut out, (*sum, 0)));
    out
}

/// The end of a state of numeric.
fn put_counts(out: &mut Vec<u8>, count: i64, scale: u8, nans: i64) {
    // maxScale and maxScaleCount serve moving aggregates only.
    out.extend_from_slice(&i32::from(scale).to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&nans.to_be_bytes());
    // Counts of infinity and -infinity.
    out.extend_from_slice(&[0; 16]);
}

/// numericvar_serialize(): number of digits, weight, sign, dscale, digits.
fn put_number(out: &mut Vec<u8>, (value, scale): (i128, u8)) {
    const NEGATIVE: i32 = 0x4000;
    // Digits of base 10,000 from the lowest, aligned at the point.
    let padding = 10u128.pow((4 - u32::from(scale) % 4) % 4);
    let mut rest = value.unsigned_abs();
    let mut digits = Vec::new();
    // The lowest digit takes only what the padding leaves of its room.
    let room = 10_000 / padding;
    if rest > 0 {
        digits.push((rest % room * padding) as u16);
        rest /= room;
    }
    while rest > 0 {
        digits.push((rest % 10_000) as u16);
        rest /= 10_000;
    }
    let after = i32::from(scale.div_ceil(4));
    let weight = if digits.is_empty() { 0 } else { digits.len() as i32 - 1 - after };
    out.extend_from_slice(&(digits.len() as i32).to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&(if value < 0 { NEGATIVE } else { 0 }).to_be_bytes());
    out.extend_from_slice(&i32::from(scale).to_be_bytes());
    for digit in digits.iter().rev() {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`put_number`] writes, as words: digits, weight, sign, scale, then the digits.
    fn number(value: i128, scale: u8) -> (i32, i32, i32, i32, Vec<u16>) {
        let mut out = Vec::new();
        put_number(&mut out, (value, scale));
        let word = |i: usize| i32::from_be_bytes(out[i * 4..i * 4 + 4].try_into().unwrap());
        let digits = out[16..].chunks(2).map(|d| u16::from_be_bytes([d[0], d[1]])).collect();
        (word(0), word(1), word(2), word(3), digits)
    }

    #[test]
    fn digits_are_aligned_at_the_point() {
        assert_eq!(number(0, 0), (0, 0, 0, 0, vec![]));
        assert_eq!(number(0, 2), (0, 0, 0, 2, vec![]));
        assert_eq!(number(7, 0), (1, 0, 0, 0, vec![7]));
        assert_eq!(number(12_345, 0), (2, 1, 0, 0, vec![1, 2345]));
        assert_eq!(number(150, 2), (2, 0, 0, 2, vec![1, 5000]));
        assert_eq!(number(-12_345_678, 2), (3, 1, 0x4000, 2, vec![12, 3456, 7800]));
        assert_eq!(number(1, 6), (1, -2, 0, 6, vec![100]));
        assert_eq!(number(25, 4), (1, -1, 0, 4, vec![25]));
        assert_eq!(number(i128::MAX, 1).0, 11);
    }

    #[test]
    fn states_have_all_fields() {
        let state = serialized(3, (600, 2), (140_000, 4));
        assert_eq!(state[..8], 3i64.to_be_bytes());
        // N, two numbers of two digits each, scale and its count, three counts.
        assert_eq!(state.len(), 8 + 20 + 20 + 4 + 8 + 24);
        assert_eq!(state[48..52], 2i32.to_be_bytes());
    }

    #[test]
    fn sums_have_their_fields() {
        let state = sum(3, (600, 2));
        assert_eq!(state.len(), 8 + 20 + 4 + 8 + 24);
        assert_eq!(state[..8], 3i64.to_be_bytes());
        assert_eq!(state[28..32], 2i32.to_be_bytes());
        assert_eq!(state[32..40], 3i64.to_be_bytes());
        assert_eq!(state[40..], [0; 24]);
        let nan = sum(3, (numeric::NAN, 2));
        assert_eq!(nan[..8], [0; 8]);
        assert_eq!(nan[nan.len() - 24..nan.len() - 16], 3i64.to_be_bytes());
        assert_eq!(poly(2, &[-10_001]).len(), 8 + 20);
        assert_eq!(
            poly(2, &[3, 5])[8..],
            [poly(0, &[3])[8..].to_vec(), poly(0, &[5])[8..].to_vec()].concat()
        );
    }
}
