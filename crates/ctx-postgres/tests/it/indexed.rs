//! The texts that a request's results refer to.

use ctx_postgres::OwnedStore;
use ctx_retrieve::{Field, FileSearch as _, PartQuery, Relations as _};

use crate::ranking::asked;
use crate::{fresh, texts};

const CODE: &str = "fn take() {\n    give();\n}\n";

/// A request that has asked `port` about the file.
async fn told(store: &OwnedStore, port: &str) -> OwnedStore {
    let (request, _) = store.opened("", 9, 9).await.unwrap();
    let name = |it: &str| vec![it.to_owned()];
    let mut terms = asked("take", 9);
    let found = match port {
        "passages" => request.passages(&terms).await.unwrap(),
        "passages of files" => request.passages(&terms.within(name("a.rs"))).await.unwrap(),
        "files" => {
            terms.fields = vec![(Field::Text, 1.0)];
            request.files(&terms).await.unwrap()
        }
        "definitions" => request
            .definitions(&name("take"), 9)
            .await
            .unwrap()
            .concat(),
        "similar names" => request.similar(&name("takes"), 9).await.unwrap(),
        "users of names" => request.users_of(&name("give"), 9).await.unwrap().concat(),
        "parts" => request
            .parts_of(&[PartQuery::new("a.rs")], 9)
            .await
            .unwrap()
            .concat(),
        _ => {
            let at = PartQuery::new("a.rs").called("take");
            request.parts_of(&[at], 9).await.unwrap().concat()
        }
    };
    assert_eq!(found.len(), 1, "{port}");
    request
}

#[tokio::test]
async fn whatever_a_request_is_told_of_a_file_it_is_known_of_which_text() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let mut before = None;
    // What was read before is kept, or of another text.
    for text in [CODE.to_owned(), CODE.to_owned(), format!("\n{CODE}")] {
        store.ingest(texts([("a.rs", &*text)])).await.unwrap();
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        for port in [
            "passages",
            "passages of files",
            "files",
            "definitions",
            "similar names",
            "users of names",
            "parts",
            "a part",
        ] {
            let request = told(&store, port).await;
            assert_eq!(request.indexed("a.rs"), Some(hash), "{port}");
            assert_eq!(request.indexed("b.rs"), None, "{port}");
        }
        let (request, _) = store.opened("", 9, 9).await.unwrap();
        assert_eq!(request.indexed("a.rs"), None);
        // A request that began before.
        if let Some(earlier) = before.replace(told(&store, "a part").await) {
            let at = PartQuery::new("a.rs").called("take");
            earlier.parts_of(&[at], 9).await.unwrap();
            let expected = if text == CODE { hash } else { [0; 32] };
            assert_eq!(earlier.indexed("a.rs"), Some(expected));
        }
    }
    store.passages(&asked("take", 9)).await.unwrap();
    assert_eq!(store.indexed("a.rs"), None, "it is for no request");
}

#[tokio::test]
async fn lines_of_any_ends_are_numbered_as_files_are_read() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    for text in [
        "fn take() {}\n\nfn give() {}\n",
        "fn take() {}\r\rfn give() {}\r",
        "fn take() {}\r\n\r\nfn give() {}\r\n",
        "\u{feff}fn take() {}\r\rfn give() {}",
    ] {
        store.ingest(texts([("a.rs", text)])).await.unwrap();
        assert_eq!(
            store.text("a.rs").await.unwrap().as_deref(),
            Some(text),
            "it is kept as it is"
        );
        let found = store.definitions(&["give".to_owned()], 9).await.unwrap();
        let spans: Vec<_> = found[0].iter().map(|it| it.span.start()).collect();
        assert_eq!(spans, [3], "{text:?}");
        let found = store.passages(&asked("give", 9)).await.unwrap();
        assert_eq!(found[0].span.start(), 3, "{text:?}");
    }
}
