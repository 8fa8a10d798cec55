//! What other testers of the workspace share with the differential tester: its source of chance.

pub mod draw;
