//! Configurations of clients: what is printed, and what is written beside what was there.

use std::fs;

use ctx_mcp::{Client, Installation};
use serde_json::Value;

fn installation(client: Client, root: &std::path::Path) -> Installation {
    Installation::new(client, "/opt/ctx \"x\"/ctx", root)
}

#[test]
fn each_client_is_known_by_its_word() {
    for client in Client::ALL {
        assert_eq!(Client::of(client.as_str()), Some(client));
    }
    assert_eq!(Client::of("emacs"), None);
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
fn writing_keeps_what_else_there_is() {
    let folder = tempfile::tempdir().unwrap();
    for client in Client::ALL {
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
fn what_is_no_table_or_no_toml_stays_as_it_is() {
    for (before, why) in [
        ("a = 1\n[b\n", "it is no TOML in line 2"),
        ("a = 1\na = 2\n", "it is no TOML in line 2"),
        ("mcp_servers = 1\n", "its mcp_servers is no table"),
        ("[[mcp_servers]]\n", "its mcp_servers is no table"),
        ("[mcp_servers]\nctx = []\n", "its ctx is no table"),
        ("[mcp_servers.ctx.command]\n", "its command is a table"),
    ] {
        let told = codex(before).unwrap_err();
        assert!(told.contains(why) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn writing_begins_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for client in Client::ALL {
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
