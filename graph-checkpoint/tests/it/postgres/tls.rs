//! Connections with TLS, and passwords in files.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use superstep_checkpoint::{PostgresOptions, PostgresSaver};
use tempfile::TempDir;

use super::cluster::{Cluster, Settings, free_port};
use super::run;

/// Makes a certificate for localhost with its key, NAME.crt and NAME.key, signed by that of `issuer` or by itself.
fn certificate(folder: &Path, name: &str, issuer: Option<&str>) -> (PathBuf, PathBuf) {
    let [certificate, key] = ["crt", "key"].map(|end| folder.join(name).with_extension(end));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl
        .args(["-days", "2", "-addext", "subjectAltName=DNS:localhost"])
        .arg("-subj")
        .arg(format!("/CN={name}"));
    openssl.arg("-out").arg(&certificate).arg("-keyout").arg(&key);
    if let Some(issuer) = issuer {
        openssl.arg("-CA").arg(folder.join(issuer).with_extension("crt"));
        openssl.arg("-CAkey").arg(folder.join(issuer).with_extension("key"));
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    }
    let made = openssl.output().expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (certificate, key)
}

const ACCESS: &str = "local all all trust\n\
                      hostssl all secret 127.0.0.1/32 scram-sha-256\n\
                      hostssl all all 127.0.0.1/32 trust\n";

/// Starts a server with a certificate that `ca` has signed, in a folder with others.
fn secured(signed_by: Option<&str>) -> Option<(Arc<Cluster>, TempDir)> {
    let folder = tempfile::tempdir().expect("a folder");
    certificate(folder.path(), "ca", None);
    certificate(folder.path(), "other", None);
    let certificate = Some(certificate(folder.path(), "server", signed_by));
    let cluster = Cluster::with(Settings { port: Some(free_port()), access: Some(ACCESS), certificate })?;
    Some((cluster, folder))
}

async fn error_of(options: PostgresOptions, url: &str) -> String {
    let opened = options.busy_limit(Duration::from_secs(5)).open(url).await;
    opened.expect_err("it is refused").to_string()
}

#[test]
fn certificates_are_checked_as_the_address_says() {
    let Some((cluster, folder)) = secured(Some("ca")) else { return };
    run(async {
        let options = PostgresSaver::options;
        let url = cluster.network_url("superstep");
        let root = |name: &str| folder.path().join(name).with_extension("crt").display().to_string();
        let with = |mode: &str, name: &str| format!("{url} sslmode={mode} sslrootcert='{}'", root(name));
        for accepted in [
            url.clone(),
            format!("{url} sslmode=require"),
            format!("{url} sslmode=require channel_binding=prefer"),
            with("require", "ca"),
            with("verify-ca", "ca"),
            with("verify-full", "ca"),
            with("verify-ca", "ca").replace("host=localhost hostaddr", "hostaddr"),
            cluster.url("superstep") + " sslmode=require",
        ] {
            let opened = options().open(&accepted).await;
            opened.unwrap_or_else(|error| panic!("{accepted}: {error}"));
        }
        let saver = options().root_certificate(root("ca")).open(format!("{url} sslmode=verify-full")).await;
        let saver = saver.expect("the certificate is for this host");
        let sessions = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                        WHERE application_name = 'superstep'";
        assert_eq!(cluster.execute(sessions), "t");
        drop(saver);

        let foreign = "the store failed: the connection to the database cannot be secured with TLS: its certificate was not \
                       issued by a trusted one; check `sslmode` and `sslrootcert`";
        for mode in ["prefer", "require", "verify-ca", "verify-full"] {
            assert_eq!(error_of(options(), &with(mode, "other")).await, foreign, "{mode}");
        }
        let elsewhere = with("verify-full", "ca").replace("host=localhost hostaddr", "hostaddr");
        assert_eq!(
            error_of(options(), &elsewhere).await,
            "the store failed: the connection to the database cannot be secured with TLS: its certificate is for another host; \
             check `sslmode` and `sslrootcert`"
        );
        assert_eq!(
            error_of(options(), &format!("{url} sslmode=disable")).await,
            "the store failed: the database accepts the user only with TLS: no pg_hba.conf entry for host \"127.0.0.1\", user \
             \"superstep\", database \"postgres\", no encryption; connect with `sslmode=require`"
        );
        assert_eq!(
            error_of(options(), &format!("{url} sslmode=verify-full")).await,
            "the store failed: `sslmode=verify-ca` and `sslmode=verify-full` need the certificates to trust: name their file \
             with `sslrootcert` or `root_certificate`"
        );
        assert_eq!(
            error_of(options(), &format!("{url} sslrootcert=/nowhere.pem")).await,
            "the store failed: failed to read the certificates in /nowhere.pem: No such file or directory (os error 2)"
        );
        assert_eq!(
            error_of(options(), &format!("{url} sslrootcert={}", folder.path().join("ca.key").display()))
                .await,
            format!(
                "the store failed: failed to read the certificates in {}: it contains no certificate in the format PEM",
                folder.path().join("ca.key").display()
            )
        );
        assert_eq!(
            error_of(options(), &format!("{url} sslmode=always")).await,
            "the store failed: the address of the database is not valid: invalid connection string: invalid value for option \
             `sslmode`; write postgres://user@host/database"
        );
    });
}

/// The manual of Postgres makes certificates that sign themselves.
#[test]
fn a_certificate_that_signs_itself_may_be_trusted() {
    let Some((cluster, folder)) = secured(None) else { return };
    run(async {
        let root = folder.path().join("server.crt").display().to_string();
        let url = format!("{} sslmode=verify-full sslrootcert={root}", cluster.network_url("superstep"));
        PostgresSaver::open(&url).await.expect("it is trusted itself");
        let elsewhere = url.replace("host=localhost hostaddr", "hostaddr");
        let error = error_of(PostgresSaver::options(), &elsewhere).await;
        assert!(error.contains("its certificate is for another host"), "{error}");
        let error = error_of(PostgresSaver::options(), &url.replace("server.crt", "other.crt")).await;
        assert!(error.contains("cannot be secured with TLS"), "{error}");
    });
}

#[test]
fn passwords_are_read_from_a_file() {
    let Some((cluster, folder)) = secured(Some("ca")) else { return };
    run(async {
        cluster.execute(
            "CREATE ROLE secret LOGIN PASSWORD 'hun:ter2'; GRANT CREATE ON DATABASE postgres TO secret",
        );
        let url = cluster.network_url("secret");
        let file = folder.path().join("passwords");
        let write = |text: &str, mode: u32| {
            std::fs::write(&file, text).expect("it is written");
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("it is ours");
        };
        let options = || PostgresSaver::options().schema("of_secret").password_file(&file);
        write("elsewhere:*:*:*:wrong\nlocalhost:*:postgres:secret:hun\\:ter2\n", 0o600);
        options().open(&url).await.expect("the password is right");
        options()
            .open(format!("{url} channel_binding=require"))
            .await
            .expect("the server proves its certificate");

        let at = file.display();
        write("localhost:*:*:secret:hunter2\n", 0o600);
        assert_eq!(
            error_of(options(), &url).await,
            "the store failed: the database refused the user: password authentication failed for user \"secret\"; check the \
             user and the password"
        );
        write("localhost:*:*:somebody:hunter2\n", 0o600);
        assert_eq!(
            error_of(options(), &url).await,
            format!("the store failed: failed to read the password in {at}: it has no line for this address")
        );
        write("*:*:*:*:hunter2\n", 0o640);
        assert_eq!(
            error_of(options(), &url).await,
            format!(
                "the store failed: failed to read the password in {at}: other users may read it: take that right away with \
                 `chmod 600`"
            )
        );
        std::fs::remove_file(&file).expect("it is ours");
        assert_eq!(
            error_of(options(), &url).await,
            format!(
                "the store failed: failed to read the password in {at}: No such file or directory (os error 2)"
            )
        );
    });
}
