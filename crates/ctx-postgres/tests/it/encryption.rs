//! Encrypted connections to the server.

use std::net::TcpListener;
use std::time::Duration;

use ctx_postgres::{Limits, Store, StoreError, host};

use crate::server::Server;

/// A port that was free a moment ago.
pub(crate) fn port() -> u16 {
    let any = TcpListener::bind("127.0.0.1:0").unwrap();
    any.local_addr().unwrap().port()
}

#[tokio::test]
async fn connections_are_encrypted_where_that_is_asked_for_and_only_to_whom_it_is() {
    let port = port();
    let Some((server, certificate)) = Server::encrypted(port) else {
        return;
    };
    let socket = format!("{} port={port}", server.url("postgres"));
    let raw = crate::server::raw(&socket).await;
    let encrypted = async || {
        let sql = "SELECT count(*) FILTER (WHERE s.ssl), count(*) FROM pg_stat_ssl s
                   JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'ctx'";
        let row = raw.query_one(sql, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    let url = |host: &str, more: &str| format!("postgres://ctx@{host}:{port}/postgres?{more}");
    let connect = async |url: String| Store::connect(&url, Limits::default()).await;
    let certificate = certificate.display().to_string();
    for more in [
        "sslmode=require".to_owned(),
        format!("sslmode=require&sslrootcert={certificate}"),
        format!(
            "sslmode=verify-full&sslrootcert={}",
            certificate.replace('/', "%2F")
        ),
    ] {
        let store = connect(url("127.0.0.1", &more)).await.unwrap();
        // The second looks whether there is a pooler, and goes.
        let (with, all) = encrypted().await;
        assert!(
            with == all && (1..=2).contains(&all),
            "{more}: {with} of {all}"
        );
        drop(store);
        while encrypted().await.1 > 0 {
            tokio::task::yield_now().await;
        }
    }
    let words = format!(
        "host=127.0.0.1 port={port} user=ctx dbname=postgres sslmode=verify-full sslrootcert='{certificate}'"
    );
    connect(words).await.unwrap();
    for (host, more) in [
        // Nobody vouches for it.
        ("127.0.0.1", "sslmode=verify-full".to_owned()),
        // It is not certified by that name.
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={certificate}"),
        ),
        (
            "127.0.0.1",
            "sslmode=verify-full&sslrootcert=/nowhere".to_owned(),
        ),
    ] {
        let refused = connect(url(host, &more)).await;
        assert!(matches!(refused, Err(StoreError::Connect { .. })), "{more}");
    }
    let refused = connect(url("127.0.0.1", "sslmode=some")).await;
    assert!(matches!(refused, Err(StoreError::BadAddress(_))));
}

#[tokio::test]
async fn failures_of_a_connection_are_reported_with_their_cause() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.pem");
    let pem = "-----BEGIN CERTIFICATE-----\nc2VzYW1l\n";
    std::fs::write(&damaged, pem).unwrap();
    for (roots, said) in [
        ("/nowhere", "/nowhere: No such file"),
        (
            damaged.to_str().unwrap(),
            "damaged.pem: it is not in the form",
        ),
    ] {
        let url = format!("host=127.0.0.1 port=1 sslmode=verify-full sslrootcert={roots}");
        let error = Store::connect(&url, Limits::default()).await.unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    // It takes the connection, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut limits = Limits::default();
    limits.wait = Duration::from_millis(200);
    let url = format!("host=127.0.0.1 port={port} user=u");
    let error = Store::connect(&url, limits).await.unwrap_err();
    let said = "connect to the database: the server did not answer in time";
    assert_eq!(error.to_string(), said);
}

#[test]
fn the_place_of_a_database_is_told_and_nothing_else() {
    for (url, place) in [
        (
            "postgres://ada:sesame@db.internal:99/store?sslmode=require",
            "db.internal:99",
        ),
        (
            "host=db.internal password='a b' sslmode=verify-full",
            "db.internal",
        ),
        (
            "postgres://ada:ses@me@x/y?unknown=sesame",
            "an address that is none",
        ),
        ("user=ada password=sesame", "an address that is none"),
        ("user=ada hostaddr=10.0.0.1,10.0.0.2", "10.0.0.1, 10.0.0.2"),
    ] {
        assert_eq!(host(url), place, "{url}");
    }
}
