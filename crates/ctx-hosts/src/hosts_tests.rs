use http::Request;
use proptest::prelude::*;

use super::*;

fn hosts(address: &str, given: &[&str]) -> Result<Hosts, HostsError> {
    let given = given.iter().map(|&it| it.to_owned()).collect();
    Hosts::at(address.parse().unwrap(), given)
}

fn asked(hosts: &Hosts, target: &str, named: &[&[u8]]) -> Result<(), Foreign> {
    let request = named
        .iter()
        .fold(Request::get(target), |it, &host| it.header(HOST, host));
    let request = request.body(()).unwrap();
    hosts.check(request.headers(), request.uri())
}

#[test]
fn a_server_has_names_that_requests_can_have() {
    for address in ["0.0.0.0:0", "[::]:80"] {
        let none = HostsError::None(address.parse().unwrap());
        assert_eq!(hosts(address, &[]).unwrap_err(), none);
    }
    for host in [
        "",
        "ctx.example:80",
        "http://ctx.example",
        "a b",
        "me@ctx.example",
        "::1",
        "x/",
    ] {
        let refused = hosts("127.0.0.1:0", &["ctx.example", host]).unwrap_err();
        assert_eq!(refused, HostsError::Name(host.to_owned()));
    }
    for host in ["ctx.example", "10.0.0.7", "[::1]", ANY_HOST] {
        assert!(hosts("0.0.0.0:0", &[host]).is_ok(), "{host}");
    }
}

#[test]
fn requests_to_other_names_are_refused() {
    let local = hosts("127.0.0.3:80", &["ctx.example"]).unwrap();
    for host in [
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.3",
        "localhost:1",
        "LocalHost",
        "[::1]",
        "[::1]:80",
        "ctx.example:443",
    ] {
        assert_eq!(asked(&local, "/", &[host.as_bytes()]), Ok(()), "{host}");
        assert_eq!(
            asked(&local, "http://ctx.example/", &[host.as_bytes()]),
            Ok(()),
            "{host}"
        );
        let other = Err(Foreign::Other(host.to_owned()));
        assert_eq!(
            asked(&local, "http://evil.example/", &[host.as_bytes()]),
            other,
            "{host}"
        );
    }
    for host in [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "127.0.0.2",
        "0.0.0.0",
        "::1",
        "a@localhost",
        "localhost:80:80",
        "localhost:a",
        "localhost.",
        "http://localhost",
        "*",
        "localhost,evil.example",
        "[::1",
    ] {
        let other = Err(Foreign::Other(host.to_owned()));
        assert_eq!(asked(&local, "/", &[host.as_bytes()]), other);
    }
    let is_text = [0xE9, b'.', b'e'];
    assert_eq!(
        asked(&local, "/", &[&is_text]),
        Err(Foreign::Other("?".to_owned()))
    );
    assert_eq!(asked(&local, "/", &[]), Err(Foreign::Unnamed));
    assert_eq!(
        asked(&local, "/", &[b"localhost", b"localhost"]),
        Err(Foreign::Several)
    );
    assert_eq!(asked(&local, "http://localhost/", &[]), Ok(()));
    assert_eq!(
        asked(&local, "http://evil.example/", &[]),
        Err(Foreign::Other("evil.example".to_owned()))
    );
    let public = hosts("0.0.0.0:80", &["ctx.example"]).unwrap();
    assert_eq!(
        asked(&public, "/", &[b"localhost"]),
        Err(Foreign::Other("localhost".to_owned()))
    );
    let any = hosts("0.0.0.0:80", &[ANY_HOST]).unwrap();
    assert_eq!(asked(&any, "/", &[b"whatever:80"]), Ok(()));
    assert_eq!(asked(&any, "/", &[]), Err(Foreign::Unnamed));
}

#[test]
fn its_own_pages_are_of_its_names_and_port() {
    let local = hosts("127.0.0.1:0", &["ctx.example", ANY_HOST]).unwrap();
    let at = |port| local.origins(port);
    assert!(at(81).contains(&"http://ctx.example:81".to_owned()));
    assert!(
        at(81)
            .iter()
            .all(|it| it.ends_with(":81") && !it.contains('*'))
    );
    assert!(at(80).contains(&"http://localhost".to_owned()));
    assert!(at(80).contains(&"http://localhost:80".to_owned()));
}

proptest! {
    #[test]
    fn only_a_name_with_or_without_a_port_is_let_in(host in "[ -~]{0,4}(localhost|ctx\\.example)?[ -~]{0,4}") {
        let local = hosts("127.0.0.1:0", &["ctx.example"]).unwrap();
        let named = asked(&local, "/", &[host.as_bytes()]);
        let name = host.split_once(':').map_or(&*host, |(name, port)| {
            if port.bytes().all(|it| it.is_ascii_digit()) { name } else { "" }
        });
        let ours = ["localhost", "127.0.0.1", "ctx.example"];
        let is_ours = ours.iter().any(|it| it.eq_ignore_ascii_case(name));
        prop_assert_eq!(named.is_ok(), is_ours, "{}", host);
    }
}
