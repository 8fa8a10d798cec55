//! Bit-packing of 64-bit words, 64 values at a time.
//!
//! ```text
//! value i of width w lies in bits [i*w, i*w + w) of the little-endian stream of 64-bit words;
//! a block of 64 values is exactly w words; the last block is cut after its last used word.
//! ```
//!
//! The stream is sequential, so one value is one or two word reads away. A block is unpacked by code made for its width,
//! in which every shift is a constant (compare Lemire and Boytsov, "Decoding billions of integers per second", 2015).

/// Values of a block.
pub(crate) const BLOCK: usize = 64;

/// Bits that hold every number up to `range`.
#[inline]
pub(crate) fn width_of(range: u64) -> u8 {
    (64 - range.leading_zeros()) as u8
}

/// Words that hold `len` values of `width` bits.
#[inline]
pub(crate) fn words_for(len: usize, width: u8) -> usize {
    (len * usize::from(width)).div_ceil(64)
}

#[inline]
fn mask(width: usize) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

/// Value `index` of a stream that is known to hold it.
#[inline(always)]
pub(crate) fn get(words: &[u64], width: u8, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let width = usize::from(width);
    let bit = index * width;
    let (word, shift) = (bit / 64, bit % 64);
    let mut value = words[word] >> shift;
    if shift + width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & mask(width)
}

/// `$m!(0); ... $m!(63);`, since the compiler does not unroll that far by itself.
macro_rules! each_of_64 {
    ($m:ident) => {
        $m!(0);
        $m!(1);
        $m!(2);
        $m!(3);
        $m!(4);
        $m!(5);
        $m!(6);
        $m!(7);
        $m!(8);
        $m!(9);
        $m!(10);
        $m!(11);
        $m!(12);
        $m!(13);
        $m!(14);
        $m!(15);
        $m!(16);
        $m!(17);
        $m!(18);
        $m!(19);
        $m!(20);
        $m!(21);
        $m!(22);
        $m!(23);
        $m!(24);
        $m!(25);
        $m!(26);
        $m!(27);
        $m!(28);
        $m!(29);
        $m!(30);
        $m!(31);
        $m!(32);
        $m!(33);
        $m!(34);
        $m!(35);
        $m!(36);
        $m!(37);
        $m!(38);
        $m!(39);
        $m!(40);
        $m!(41);
        $m!(42);
        $m!(43);
        $m!(44);
        $m!(45);
        $m!(46);
        $m!(47);
        $m!(48);
        $m!(49);
        $m!(50);
        $m!(51);
        $m!(52);
        $m!(53);
        $m!(54);
        $m!(55);
        $m!(56);
        $m!(57);
        $m!(58);
        $m!(59);
        $m!(60);
        $m!(61);
        $m!(62);
        $m!(63);
    };
}

fn unpack_const<const W: usize>(input: &[u64], out: &mut [u64; BLOCK]) {
    let input = &input[..W];
    let mask = mask(W);
    macro_rules! one {
        ($i:literal) => {{
            const I: usize = $i;
            let (word, shift) = (I * W / 64, I * W % 64);
            let mut value = input[word] >> shift;
            if shift + W > 64 {
                value |= input[word + 1] << (64 - shift);
            }
            out[I] = value & mask;
        }};
    }
    each_of_64!(one);
}

fn pack_const<const W: usize>(input: &[u64; BLOCK], out: &mut [u64; BLOCK]) {
    let mut held = 0u64;
    macro_rules! one {
        ($i:literal) => {{
            const I: usize = $i;
            let (word, shift) = (I * W / 64, I * W % 64);
            held |= input[I] << shift;
            if shift + W >= 64 {
                out[word] = held;
                held = if shift + W > 64 { input[I] >> (64 - shift) } else { 0 };
            }
        }};
    }
    each_of_64!(one);
    let _ = held;
}

macro_rules! by_width {
    ($width:expr, $function:ident($($argument:expr),*), $zero:expr) => {
        match $width {
            0 => $zero,
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6 => $function::<6>($($argument),*),
            7 => $function::<7>($($argument),*),
            8 => $function::<8>($($argument),*),
            9 => $function::<9>($($argument),*),
            10 => $function::<10>($($argument),*),
            11 => $function::<11>($($argument),*),
            12 => $function::<12>($($argument),*),
            13 => $function::<13>($($argument),*),
            14 => $function::<14>($($argument),*),
            15 => $function::<15>($($argument),*),
            16 => $function::<16>($($argument),*),
            17 => $function::<17>($($argument),*),
            18 => $function::<18>($($argument),*),
            19 => $function::<19>($($argument),*),
            20 => $function::<20>($($argument),*),
            21 => $function::<21>($($argument),*),
            22 => $function::<22>($($argument),*),
            23 => $function::<23>($($argument),*),
            24 => $function::<24>($($argument),*),
            25 => $function::<25>($($argument),*),
            26 => $function::<26>($($argument),*),
            27 => $function::<27>($($argument),*),
            28 => $function::<28>($($argument),*),
            29 => $function::<29>($($argument),*),
            30 => $function::<30>($($argument),*),
            31 => $function::<31>($($argument),*),
            32 => $function::<32>($($argument),*),
            33 => $function::<33>($($argument),*),
            34 => $function::<34>($($argument),*),
            35 => $function::<35>($($argument),*),
            36 => $function::<36>($($argument),*),
            37 => $function::<37>($($argument),*),
            38 => $function::<38>($($argument),*),
            39 => $function::<39>($($argument),*),
            40 => $function::<40>($($argument),*),
            41 => $function::<41>($($argument),*),
            42 => $function::<42>($($argument),*),
            43 => $function::<43>($($argument),*),
            44 => $function::<44>($($argument),*),
            45 => $function::<45>($($argument),*),
            46 => $function::<46>($($argument),*),
            47 => $function::<47>($($argument),*),
            48 => $function::<48>($($argument),*),
            49 => $function::<49>($($argument),*),
            50 => $function::<50>($($argument),*),
            51 => $function::<51>($($argument),*),
            52 => $function::<52>($($argument),*),
            53 => $function::<53>($($argument),*),
            54 => $function::<54>($($argument),*),
            55 => $function::<55>($($argument),*),
            56 => $function::<56>($($argument),*),
            57 => $function::<57>($($argument),*),
            58 => $function::<58>($($argument),*),
            59 => $function::<59>($($argument),*),
            60 => $function::<60>($($argument),*),
            61 => $function::<61>($($argument),*),
            62 => $function::<62>($($argument),*),
            63 => $function::<63>($($argument),*),
            _ => $function::<64>($($argument),*),
        }
    };
}

/// Unpacks one block from its `width` words. `input` may be shorter: what is missing reads as 0.
pub(crate) fn unpack_block(width: u8, input: &[u64], out: &mut [u64; BLOCK]) {
    let mut padded;
    let input = if input.len() < usize::from(width) {
        padded = [0u64; BLOCK];
        padded[..input.len()].copy_from_slice(input);
        &padded[..]
    } else {
        input
    };
    by_width!(width, unpack_const(input, out), out.fill(0));
}

/// Packs one block into the first `width` words of `out`. Values must fit `width` bits.
pub(crate) fn pack_block(width: u8, input: &[u64; BLOCK], out: &mut [u64; BLOCK]) {
    by_width!(width, pack_const(input, out), ());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_round_trips() {
        for width in 0..=64u8 {
            let mut input = [0u64; BLOCK];
            let mut state = 0x9e37_79b9_7f4a_7c15u64;
            for value in &mut input {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                *value =
                    (state ^ (state >> 29)) & if width == 0 { 0 } else { mask(usize::from(width)) };
            }
            let mut packed = [0u64; BLOCK];
            pack_block(width, &input, &mut packed);
            let mut out = [1u64; BLOCK];
            unpack_block(width, &packed[..usize::from(width)], &mut out);
            assert_eq!(input, out, "width {width}");
            for (i, value) in input.iter().enumerate() {
                assert_eq!(get(&packed, width, i), *value, "width {width}, value {i}");
            }
        }
    }

    #[test]
    fn a_cut_block_reads_its_first_values() {
        let mut input = [0u64; BLOCK];
        input[..5].copy_from_slice(&[1, 7, 3, 0, 5]);
        let mut packed = [0u64; BLOCK];
        pack_block(13, &input, &mut packed);
        let mut out = [0u64; BLOCK];
        unpack_block(13, &packed[..words_for(5, 13)], &mut out);
        assert_eq!(out[..5], [1, 7, 3, 0, 5]);
    }
}
