//! The rules for statements.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

use super::sql_query::Access;

/// The settings that may be asked for, none of which can be set like this.
const QUESTIONS: [&str; 8] = [
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// The largest value, and the largest row, in bytes.
const MOST_VALUE_BYTES: i32 = 10 << 20;

/// Takes from a connection what no statement of a model needs.
pub(super) fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)?;
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 50),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    Ok(())
}

/// Says of one thing that a statement does whether it may. What is not known is refused.
pub(super) fn judge(access: Access, context: &AuthContext<'_>) -> Authorization {
    let reads = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => {
            !["load_extension", "fts3_tokenizer"].iter().any(|name| function_name.eq_ignore_ascii_case(name))
        }
        AuthAction::Pragma { pragma_name, .. } => {
            QUESTIONS.iter().any(|name| pragma_name.eq_ignore_ascii_case(name))
        }
        _ => false,
    };
    let writes = matches!(
        context.action,
        AuthAction::Insert { .. }
            | AuthAction::Update { .. }
            | AuthAction::Delete { .. }
            | AuthAction::CreateTable { .. }
            | AuthAction::CreateIndex { .. }
            | AuthAction::CreateView { .. }
            | AuthAction::CreateTrigger { .. }
            | AuthAction::CreateTempTable { .. }
            | AuthAction::CreateTempIndex { .. }
            | AuthAction::CreateTempView { .. }
            | AuthAction::CreateTempTrigger { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropIndex { .. }
            | AuthAction::DropView { .. }
            | AuthAction::DropTrigger { .. }
            | AuthAction::DropTempTable { .. }
            | AuthAction::DropTempIndex { .. }
            | AuthAction::DropTempView { .. }
            | AuthAction::DropTempTrigger { .. }
            | AuthAction::AlterTable { .. }
            | AuthAction::Reindex { .. }
            | AuthAction::Analyze { .. }
    );
    match reads || (access == Access::Write && writes) {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}
