//! What a file is for, by its path alone.

use ctx_rank::Role;

#[test]
fn names_decide() {
    for (role, paths) in [
        (
            Role::Source,
            "src/main.rs lib/a.py a.go Makefile src/attest.rs src/latest/mod.rs testing.py contest.py \
             readme_writer.rs src/docker/run.rs jquery-plugin.js a-1.py src/testing/client.py js x-1..2.js \
             x-.js a.js. lock src/_pb2.rs",
        ),
        (
            Role::Test,
            "tests/it/main.rs pkg/server_test.go web/app.spec.ts web/app.test.jsx test_all.py conftest.py \
             src/__tests__/a.js spec/models/user_spec.rb src/parser/tests.rs testdata/in.json \
             src/test/java/A.java tests/README.md TESTS/A.RS testing/python/raises.py",
        ),
        (
            Role::Example,
            "examples/a.rs benches/read.rs demo/app.js samples/x/y.cs benchmark/run.py",
        ),
        (
            Role::Documentation,
            "README.md docs/conf.py doc/a.c guide.rst LICENSE LICENSE-MIT CHANGELOG notes.txt docs/api.json a.min.js.txt \
             README CONTRIBUTING",
        ),
        (
            Role::Configuration,
            "Cargo.toml package.json .gitignore .github/workflows/ci.yml setup.cfg pom.xml go.mod",
        ),
        (
            Role::Generated,
            "Cargo.lock web/package-lock.json go.sum app.min.js app.js.map api.pb.go api_pb2.py \
             __snapshots__/a.snap yarn.lock npm-shrinkwrap.json packages.lock.json PNPM-LOCK.yaml a.min.css \
             a.min.mjs a.bundle.js api_generated.go a.generated.cs a.g.dart _pb2.py É.LOCK .lock",
        ),
        (
            Role::Vendored,
            "vendor/a/b.go node_modules/x/index.js third_party/zlib/inflate.c static/jquery-3.5.1.js \
             node_modules/x/package-lock.json vendor/a/a_test.go bootstrap-5.0.css -1.2.js",
        ),
    ] {
        for path in paths.split_whitespace() {
            assert_eq!(Role::of(path), role, "{path}");
        }
    }
}

#[test]
fn nothing_is_source() {
    assert_eq!(Role::of(""), Role::Source);
    assert_eq!(Role::of("/"), Role::Source);
}

#[test]
fn a_word_is_the_role_and_back() {
    for role in [
        Role::Source,
        Role::Test,
        Role::Example,
        Role::Documentation,
        Role::Configuration,
        Role::Generated,
        Role::Vendored,
    ] {
        assert_eq!(Role::of_word(role.as_str()), Some(role));
    }
    assert_eq!(Role::of_word("Source"), None);
}
