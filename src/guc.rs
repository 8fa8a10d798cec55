//! Settings, typed; each description gives unit and effect.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

/// `pgcolumnar.enable_vectorized`: use batch execution nodes.
pub static ENABLE_VECTORIZED: GucSetting<bool> = GucSetting::<bool>::new(true);

/// Defines all settings.
pub fn register() {
    GucRegistry::define_bool_guc(
        c"pgcolumnar.enable_vectorized",
        c"Use batch execution for queries on columnar tables.",
        c"When off, plans over columnar tables use PostgreSQL's own nodes.",
        &ENABLE_VECTORIZED,
        GucContext::Userset,
        GucFlags::default(),
    );
}
