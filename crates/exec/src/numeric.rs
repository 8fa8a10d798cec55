//! PostgreSQL's numeric as stored (numeric.c, "NumericShort" and "NumericLong"), without the varlena header.
//!
//! ```text
//! short   u16 10 sign dscale:6 weight:7        then u16 digits, base 10,000
//! long    u16 0 sign:1 dscale:14 | i16 weight  then u16 digits
//! special u16 11 ...                           NaN 0xC000, Infinity 0xD000, -Infinity 0xF000
//! ```

/// What stands for NaN in a [`crate::Data::Decimal`].
pub const NAN: i128 = i128::MIN;

/// The value as an integer of as many decimal places as it displays, and that number of places. `None` for infinities, for
/// what an i128 cannot hold, and for bytes that are no numeric.
pub fn decode(bytes: &[u8]) -> Option<(i128, u8)> {
    let word = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let header = word(0)?;
    let (negative, scale, weight, start) = match header & 0xc000 {
        0xc000 => return (header == 0xc000).then_some((NAN, 0)),
        0x8000 => {
            let weight = i32::from(header & 0x3f) - if header & 0x40 != 0 { 64 } else { 0 };
            (header & 0x2000 != 0, (header & 0x1f80) >> 7, weight, 2)
        }
        sign => (sign == 0x4000, header & 0x3fff, i32::from(word(2)? as i16), 4),
    };
    let scale = u8::try_from(scale).ok()?;
    let digits = bytes.get(start..)?;
    let count = (digits.len() / 2) as i32;
    let mut value: i128 = 0;
    for digit in digits.chunks_exact(2) {
        let digit = i128::from(u16::from_le_bytes([digit[0], digit[1]]));
        value = value.checked_mul(10_000)?.checked_add(digit)?;
    }
    if value != 0 {
        let exponent = 4 * (weight - count + 1) + i32::from(scale);
        let power = 10i128.checked_pow(exponent.unsigned_abs())?;
        value = if exponent >= 0 {
            value.checked_mul(power)?
        } else if value % power == 0 {
            value / power
        } else {
            return None;
        };
    }
    Some((if negative { -value } else { value }, scale))
}

/// The bytes of `value` with `scale` decimal places, [`NAN`] included: what PostgreSQL's make_result() stores.
pub fn encode(value: i128, scale: u8) -> Vec<u8> {
    if value == NAN {
        return 0xc000u16.to_le_bytes().to_vec();
    }
    let scale = u16::from(scale);
    // Digits of base 10,000 lie at powers of 10,000 on either side of the point.
    let after = i32::from(scale.div_ceil(4));
    let padding = 10u128.pow((after * 4 - i32::from(scale)) as u32);
    let (high, low) = (value.unsigned_abs() / 10_000, value.unsigned_abs() % 10_000);
    // `low * padding` is below 10^7, so that only its carry is added to `high * padding`, which is taken digit by digit.
    let mut digits = Vec::with_capacity(12);
    let mut carry = low * padding;
    digits.push((carry % 10_000) as u16);
    carry /= 10_000;
    let mut rest = high;
    while rest > 0 || carry > 0 {
        carry += rest % 10_000 * padding;
        digits.push((carry % 10_000) as u16);
        carry /= 10_000;
        rest /= 10_000;
    }
    // Lowest first; the weight is the power of the highest.
    let zeros = digits.iter().rev().take_while(|digit| **digit == 0).count();
    digits.truncate(digits.len() - zeros);
    let weight = if digits.is_empty() { 0 } else { digits.len() as i32 - 1 - after };
    let trailing = digits.iter().take_while(|digit| **digit == 0).count();
    let negative = value < 0;
    let mut bytes = Vec::with_capacity(4 + digits.len() * 2);
    if scale <= 0x3f && (-64..=63).contains(&weight) {
        let header = 0x8000 | u16::from(negative) << 13 | scale << 7 | (weight as u16 & 0x7f);
        bytes.extend_from_slice(&header.to_le_bytes());
    } else {
        let header = u16::from(negative) << 14 | scale;
        bytes.extend_from_slice(&header.to_le_bytes());
        bytes.extend_from_slice(&(weight as i16).to_le_bytes());
    }
    for digit in digits[trailing..].iter().rev() {
        bytes.extend_from_slice(&digit.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(negative: bool, scale: u16, weight: i16, digits: &[u16]) -> Vec<u8> {
        let header = 0x8000 | u16::from(negative) << 13 | scale << 7 | (weight as u16 & 0x7f);
        let mut out = header.to_le_bytes().to_vec();
        digits.iter().for_each(|d| out.extend_from_slice(&d.to_le_bytes()));
        out
    }

    #[test]
    fn short_form() {
        assert_eq!(decode(&short(false, 2, 0, &[1, 5000])), Some((150, 2)));
        assert_eq!(decode(&short(true, 2, 1, &[12, 3456, 7800])), Some((-12_345_678, 2)));
        assert_eq!(decode(&short(false, 6, -2, &[100])), Some((1, 6)));
        assert_eq!(decode(&short(false, 2, 0, &[])), Some((0, 2)));
        assert_eq!(decode(&short(false, 0, 2, &[3])), Some((300_000_000, 0)));
    }

    #[test]
    fn long_form() {
        let mut bytes = (0x4000u16 | 70).to_le_bytes().to_vec();
        bytes.extend_from_slice(&(-17i16).to_le_bytes());
        bytes.extend_from_slice(&1200u16.to_le_bytes());
        assert_eq!(decode(&bytes), Some((-1200 * 100, 70)));
    }

    #[test]
    fn what_is_no_number() {
        assert_eq!(decode(&0xc000u16.to_le_bytes()), Some((NAN, 0)));
        assert_eq!(decode(&0xd000u16.to_le_bytes()), None);
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&short(false, 0, 60, &[1])), None);
    }

    #[test]
    fn encoded_as_numeric_in_stores_it() {
        assert_eq!(encode(0, 0), short(false, 0, 0, &[]));
        assert_eq!(encode(0, 2), short(false, 2, 0, &[]));
        assert_eq!(encode(150, 2), short(false, 2, 0, &[1, 5000]));
        assert_eq!(encode(-12_345_678, 2), short(true, 2, 1, &[12, 3456, 7800]));
        assert_eq!(encode(1, 6), short(false, 6, -2, &[100]));
        assert_eq!(encode(300_000_000, 0), short(false, 0, 2, &[3]));
        assert_eq!(encode(10_000, 4), short(false, 4, 0, &[1]));
        assert_eq!(encode(NAN, 0), 0xc000u16.to_le_bytes());
        let mut long = (0x4000u16 | 70).to_le_bytes().to_vec();
        long.extend_from_slice(&(-17i16).to_le_bytes());
        long.extend_from_slice(&1200u16.to_le_bytes());
        assert_eq!(encode(-1200 * 100, 70), long);
    }

    #[test]
    fn decode_inverts_encode() {
        let powers = (0..34).map(|e| 10i128.pow(e));
        let values = powers.flat_map(|p| [p, p - 1, p + 1, -p, p / 7 * 3, 1 - p]);
        for value in values.chain([0]) {
            for scale in [0, 1, 2, 3, 4, 5, 6, 17, 18, 37, 38, 63, 64, 255] {
                assert_eq!(decode(&encode(value, scale)), Some((value, scale)), "{value} {scale}");
            }
        }
    }

    #[test]
    fn extremes_are_encoded() {
        assert_eq!(decode(&encode(i128::MAX, 0)), Some((i128::MAX, 0)));
        assert_eq!(decode(&encode(i128::MIN + 1, 4)), Some((i128::MIN + 1, 4)));
    }
}
