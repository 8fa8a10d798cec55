//! The four by-value widths. Floats travel as the integers of their bits.

use arrow_buffer::ArrowNativeType;

/// An integer a by-value column is stored in.
pub(crate) trait Native: Copy + Eq + Ord + bytemuck::Pod + ArrowNativeType {
    /// Bytes of one value.
    const WIDTH: usize;
    /// To 64 bits with sign.
    fn widen(self) -> i64;
    /// To 64 bits without sign.
    fn widen_unsigned(self) -> i64;
    /// The low bits.
    fn truncate(value: i64) -> Self;
}

macro_rules! native {
    ($signed:ty, $unsigned:ty) => {
        impl Native for $signed {
            const WIDTH: usize = size_of::<$signed>();
            #[inline(always)]
            fn widen(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn widen_unsigned(self) -> i64 {
                self as $unsigned as i64
            }
            #[inline(always)]
            fn truncate(value: i64) -> Self {
                value as $signed
            }
        }
    };
}

native!(i8, u8);
native!(i16, u16);
native!(i32, u32);
native!(i64, u64);
