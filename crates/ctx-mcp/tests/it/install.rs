//! Configurations of clients: what is printed, and how an entry is added to an existing file.

use std::fs;

use ctx_mcp::{Client, Installation};
use serde_json::Value;

fn installation(client: Client, root: &std::path::Path) -> Installation {
    Installation::new(client, "/opt/ctx \"x\"/ctx", root)
}

#[test]
fn each_client_is_known_by_its_word() {
    for &client in Client::ALL {
        assert_eq!(client.to_string().parse(), Ok(client));
    }
    assert!("emacs".parse::<Client>().is_err());
}

#[test]
fn each_configuration_starts_the_program_for_the_root() {
    for (client, member) in [
        (Client::ClaudeDesktop, "mcpServers"),
        (Client::ClaudeCode, "mcpServers"),
        (Client::Cursor, "mcpServers"),
        (Client::VsCode, "servers"),
        (Client::Zed, "context_servers"),
    ] {
        let text = installation(client, "/src".as_ref()).text();
        let value: Value = serde_json::from_str(&text).unwrap();
        let entry = &value[member]["ctx"];
        assert_eq!(entry["command"], "/opt/ctx \"x\"/ctx", "{client}");
        assert_eq!(
            entry["args"],
            serde_json::json!(["mcp", "--root", "/src"]),
            "{client}"
        );
    }
    let text = installation(Client::Codex, "/src".as_ref()).text();
    assert_eq!(
        text,
        "[mcp_servers.ctx]\ncommand = '/opt/ctx \"x\"/ctx'\nargs = [\"mcp\", \"--root\", \"/src\"]\n"
    );
}

#[test]
fn the_program_keeps_its_index_where_it_is_told_to() {
    let installation = installation(Client::Cursor, "/src".as_ref()).with_index("/var/ctx");
    let value: Value = serde_json::from_str(&installation.text()).unwrap();
    assert_eq!(
        value["mcpServers"]["ctx"]["args"],
        serde_json::json!(["mcp", "--root", "/src", "--index", "/var/ctx"])
    );
}

#[test]
fn writing_keeps_what_else_there_is() {
    let folder = tempfile::tempdir().unwrap();
    for &client in Client::ALL {
        let installation = installation(client, &folder.path().join(client.as_str()));
        let home = folder.path().join("home");
        let file = installation.file(&home);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = match client {
            Client::Codex => {
                "model = \"x\"\n\n[mcp_servers.ctx]\ncommand = \"old\"\nenabled = true\n\n[mcp_servers.other]\ncommand = \"y\"\n"
            }
            _ => r#"{"theme": "dark", "mcpServers": {"other": {"command": "y"}}}"#,
        };
        fs::write(&file, before).unwrap();
        assert_eq!(installation.write(&home).unwrap(), file);
        let after = fs::read_to_string(&file).unwrap();
        let kept: &[&str] = match client {
            Client::Codex => &[
                "model = \"x\"",
                "enabled = true",
                "[mcp_servers.other]\ncommand = \"y\"",
            ],
            _ => &["\"theme\": \"dark\"", "\"other\""],
        };
        for kept in kept {
            assert!(after.contains(kept), "{client}: {after}");
        }
        assert!(
            after.contains("--root") && !after.contains("old"),
            "{client}: {after}"
        );
        // Once more changes nothing.
        installation.write(&home).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), after, "{client}");
        let mut backup = file.into_os_string();
        backup.push(".bak");
        assert_eq!(fs::read_to_string(backup).unwrap(), before, "{client}");
    }
}

#[test]
fn the_settings_of_an_entry_and_their_order_are_the_owners() {
    let home = tempfile::tempdir().unwrap();
    let installation = installation(Client::Cursor, home.path());
    let file = installation.file(home.path());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = r#"{
    "mcpServers": {
        "zeta": {"command": "y", "args": []},
        "ctx": {
            "command": "/old/ctx",
            "env": {"CTX_CACHE_DIR": "/big"},
            "disabled": false
        }
    },
    "apple": 1.50
}
"#;
    fs::write(&file, before).unwrap();
    installation.write(home.path()).unwrap();
    let root = home.path().display();
    let after = before.replace(r#""/old/ctx""#, r#""/opt/ctx \"x\"/ctx""#);
    let after = after.replace(
        r#""disabled": false"#,
        &format!(
            "\"disabled\": false,\n            \"args\": [\n                \"mcp\",\n                \
             \"--root\",\n                \"{root}\"\n            ]"
        ),
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    for (before, why) in [
        ("[]", "it is not an object"),
        (r#"{"mcpServers": 1}"#, "its servers are not an object"),
        (
            r#"{"mcpServers": {"ctx": "x"}}"#,
            "its ctx is not an object",
        ),
        ("{", "it is not plain JSON"),
    ] {
        fs::write(&file, before).unwrap();
        let error = installation.write(home.path()).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.starts_with(why), "{source}");
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
    }
}

/// What Codex is told once it was installed beside `before`.
fn codex(before: &str) -> Result<String, String> {
    let home = tempfile::tempdir().unwrap();
    let installation = installation(Client::Codex, "/src".as_ref());
    let file = installation.file(home.path());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, before).unwrap();
    let written = installation.write(home.path());
    let after = fs::read_to_string(&file).unwrap();
    if let Err(fault) = written {
        assert_eq!(after, before);
        return Err(fault.to_string());
    }
    // Once more changes nothing.
    installation.write(home.path()).unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), after);
    Ok(after)
}

#[test]
fn a_table_is_changed_however_it_is_written() {
    for before in [
        "[mcp_servers.ctx]\nargs = [\n  \"mcp\", # one\n]\ncommand = \"old\" # its program\nenabled = true\n",
        "[mcp_servers.ctx] # mine\nenabled = true\n[mcp_servers.ctx.env]\nA = \"args = 1\"\n",
        "[mcp_servers.\"ctx\"]\nenabled = true\n\n[other]\ncommand = \"mine\"\n",
        "[ mcp_servers . ctx ]\nenabled = true\ncommand = '''\nold\nargs = []'''\n",
        "[mcp_servers]\nctx.enabled = true\nother.command = \"mine\"\n",
        "mcp_servers.ctx.enabled = true\nmcp_servers.ctx.command = \"old\"\n",
        "mcp_servers.ctx = { enabled = true, args = [] }\n",
        "mcp_servers = { ctx = { enabled = true } }\n",
        "[a]\nb = \"\"\"\n[mcp_servers.ctx]\n\"\"\"\nenabled = true # mine\n",
        "mcp_servers.other.enabled = true\n\n[a]\n",
        "[[a]]\n[mcp_servers]\n[[a]]\nenabled = true",
    ] {
        let after = codex(before).unwrap();
        let told: toml_edit::DocumentMut = after.parse().unwrap();
        let ours = &told["mcp_servers"]["ctx"];
        let program = ours["command"].as_str();
        assert_eq!(program, Some("/opt/ctx \"x\"/ctx"), "{after}");
        let arguments = ours["args"].as_array().unwrap().iter();
        let arguments: Vec<_> = arguments.filter_map(|it| it.as_str()).collect();
        assert_eq!(arguments, ["mcp", "--root", "/src"], "{after}");
        for kept in [
            "enabled = true",
            "# its program",
            "# mine",
            "\"mine\"",
            "A = \"args = 1\"",
        ] {
            assert_eq!(after.contains(kept), before.contains(kept), "{after}");
        }
        assert!(!after.contains("old"), "{after}");
    }
}

#[test]
fn a_configuration_that_is_not_understood_stays_as_it_is() {
    for (before, why) in [
        ("a = 1\n[b\n", "line 2 is not valid TOML"),
        ("a = 1\na = 2\n", "line 2 is not valid TOML"),
        ("mcp_servers = 1\n", "its mcp_servers is not a table"),
        ("[[mcp_servers]]\n", "its mcp_servers is not a table"),
        ("[mcp_servers]\nctx = []\n", "its ctx is not a table"),
        ("[mcp_servers.ctx.command]\n", "its command is a table"),
    ] {
        let told = codex(before).unwrap_err();
        assert!(told.contains(why) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn writing_begins_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for &client in Client::ALL {
        let installation = installation(client, &folder.path().join("root"));
        let file = installation.write(folder.path()).unwrap();
        assert_eq!(
            fs::read_to_string(file).unwrap(),
            installation.text(),
            "{client}"
        );
    }
}

#[test]
fn a_file_that_is_something_else_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for before in ["{\n  // mine\n}\n", "[]", "{\"mcpServers\": 1}"] {
        let file = folder.path().join(".mcp.json");
        fs::write(&file, before).unwrap();
        let fault = installation(Client::ClaudeCode, folder.path())
            .write(folder.path())
            .unwrap_err();
        assert!(fault.hint().contains("without --write"), "{fault}");
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
    }
}

#[test]
fn no_backup_is_lost_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".mcp.json");
    let write = |before: &str| {
        fs::write(&file, before).unwrap();
        let installation = installation(Client::ClaudeCode, folder.path());
        installation.write(folder.path()).unwrap();
    };
    for before in ["{}", "{\"a\": 1}", "{}", "{\"a\": 2}", "{\"a\": 2}"] {
        write(before);
    }
    for (end, kept) in [("", "{}"), ("1", "{\"a\": 1}"), ("2", "{\"a\": 2}")] {
        let name = folder.path().join(format!(".mcp.json.bak{end}"));
        assert_eq!(fs::read_to_string(name).unwrap(), kept);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[cfg(unix)]
#[test]
fn a_file_stays_where_it_is_and_for_whom_it_is() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    let target = folder.path().join("dotfiles.json");
    fs::create_dir(&project).unwrap();
    let link = project.join(".mcp.json");
    symlink("../dotfiles.json", &link).unwrap();
    let installation = installation(Client::ClaudeCode, &project);
    // What a link leads to that is not there is somebody's to make.
    let fault = installation.write(folder.path()).unwrap_err();
    assert!(fault.to_string().starts_with("read "), "{fault}");
    for mode in [0o600, 0o640, 0o644] {
        fs::write(&target, format!("{{\"key\": {mode}}}")).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(installation.write(folder.path()).unwrap(), link);
        assert!(link.is_symlink());
        assert!(fs::read_to_string(&target).unwrap().contains("--root"));
        for entry in fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            let is_new =
                fs::read_to_string(entry.path()).is_ok_and(|it| it.contains(&mode.to_string()));
            let found = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert!(!is_new || found == mode, "{entry:?} {found:o}");
        }
    }
    // The file, the project, and what was there three times.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    assert_eq!(fs::read_dir(&project).unwrap().count(), 1);
}
