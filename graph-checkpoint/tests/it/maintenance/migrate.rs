//! Migration of older formats on request.

use rusqlite::Connection;
use superstep_checkpoint::SqliteReader;
use superstep_checkpoint::maintenance::{self, MaintenanceError, Migration};
use superstep_core::checkpoint::StoreError;

use super::written::written_of;
use crate::material::*;

#[test]
fn an_upgrade_is_reported_and_then_done() {
    run(async {
        let file = written_of(15).await;
        let set = |sql: &str| Connection::open(&file.path).unwrap().execute_batch(sql).unwrap();
        set(
            "DROP TABLE server_thread; DROP TABLE server_tag; DROP TABLE server_run; DROP TABLE server_queue; DROP TABLE server_assistant; DROP TABLE server_cron; DROP TABLE server_event; DROP TABLE server_expiring; \
             ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE named; DROP TABLE branch; PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)",
        );
        let bytes = std::fs::read(&file.path).unwrap();
        let to = SqliteReader::FORMAT;
        assert_eq!(maintenance::migration(&file.path).unwrap(), Migration { from: 2, to });
        assert_eq!(std::fs::read(&file.path).unwrap(), bytes, "nothing was touched");
        assert_eq!(maintenance::migrate(&file.path).unwrap(), Migration { from: 2, to });
        let again = maintenance::migrate(&file.path).unwrap();
        assert!(!again.is_needed(), "{again:?}");
        let verified = maintenance::verify(&file.path).unwrap();
        assert_eq!((verified.format, verified.findings), (to, Vec::new()));
        set("PRAGMA user_version = 99");
        let newer = maintenance::migrate(&file.path).unwrap_err();
        assert!(
            matches!(newer, MaintenanceError::Store(StoreError::NewerFormat { found: 99, .. })),
            "{newer}"
        );
    });
}
