//! Collations, encodings and the session's time zone: what decides whether bytes tell the answer.

use super::refusal::Refusal;
use crate::ports;
use core::ffi::CStr;
use pgrx::pg_sys::{self, Oid};

/// Ok where strings are equal exactly if their bytes are.
pub fn require_deterministic(collation: Oid) -> Result<(), Refusal> {
    if collation == Oid::INVALID {
        // PostgreSQL's functions raise "could not determine which collation to use".
        return Err(Refusal::NondeterministicCollation("(none)".to_owned()));
    }
    // SAFETY: reads the system cache.
    if unsafe { pg_sys::get_collation_isdeterministic(collation) } {
        Ok(())
    } else {
        Err(Refusal::NondeterministicCollation(name(collation)))
    }
}

/// Ok where strings are ordered as their bytes.
pub fn require_c_order(collation: Oid) -> Result<(), Refusal> {
    require_deterministic(collation)?;
    if ports::collation_order_is_c(collation) {
        Ok(())
    } else {
        Err(Refusal::CollationOrder(name(collation)))
    }
}

/// Ok where only ASCII letters have case.
pub fn require_c_case(collation: Oid) -> Result<(), Refusal> {
    require_deterministic(collation)?;
    if ports::collation_case_is_c(collation) {
        Ok(())
    } else {
        Err(Refusal::CollationCase(name(collation)))
    }
}

fn name(collation: Oid) -> String {
    // SAFETY: the name is a palloc'd string, or null where the collation is gone.
    unsafe {
        let name = pg_sys::get_collation_name(collation);
        if name.is_null() {
            return collation.to_u32().to_string();
        }
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// How characters lie in text of the server's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    SingleByte,
    Other,
}

/// The server's encoding.
pub fn encoding() -> Encoding {
    // SAFETY: reads constants of the database.
    let (id, width) =
        unsafe { (pg_sys::GetDatabaseEncoding(), pg_sys::pg_database_encoding_max_length()) };
    match (id as u32, width) {
        (pg_sys::pg_enc::PG_UTF8, _) => Encoding::Utf8,
        (_, 1) => Encoding::SingleByte,
        _ => Encoding::Other,
    }
}

/// Characters of text.
pub fn char_count(bytes: &[u8]) -> Result<usize, Refusal> {
    match encoding() {
        Encoding::Utf8 => Ok(bytes.iter().filter(|byte| *byte & 0xc0 != 0x80).count()),
        Encoding::SingleByte => Ok(bytes.len()),
        Encoding::Other => Err(Refusal::Encoding),
    }
}

/// Names of time zones without offset and history.
const UTC_NAMES: [&[u8]; 8] =
    [b"UTC", b"GMT", b"Etc/UTC", b"Etc/GMT", b"UCT", b"Etc/UCT", b"Zulu", b"Etc/Zulu"];

/// Whether times with time zone are displayed in UTC now.
pub fn session_is_utc() -> bool {
    // SAFETY: the session's zone is set while a backend runs; its name lives in it.
    unsafe {
        let zone = pg_sys::session_timezone;
        if zone.is_null() {
            return false;
        }
        let name = pg_sys::pg_get_timezone_name(zone);
        !name.is_null() && UTC_NAMES.contains(&CStr::from_ptr(name).to_bytes())
    }
}
