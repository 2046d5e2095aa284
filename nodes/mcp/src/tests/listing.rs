//! The tools made of a server's list.

use std::time::Duration;

use crate::{McpError, McpOptions, McpServer};
use serde_json::{Value, json};
use superstep_nodes::tool::{AllowReadOnly, RegistryError, ToolEffect, ToolOutcome, ToolRegistry, TypedTool};

use super::scripted::{Act, Heard, allowed, call, make, names, registry, said, server, text, tool};

/// The input of a tool that takes any.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Anything {}

async fn with_tools(tools: Value, options: McpOptions) -> (McpServer, Heard) {
    let (stream, heard) = server(move |method, _| match method {
        "tools/list" => Act::Result(json!({ "tools": tools })),
        _ => Act::Result(text("done")),
    });
    (McpServer::connect("s", stream, options).await.unwrap(), heard)
}

#[tokio::test]
async fn tools_have_the_servers_name_before_their_own_and_come_in_order_from_all_pages() {
    let (stream, _) = server(|_, message| match message["params"]["cursor"].as_str() {
        None => Act::Result(json!({ "tools": [tool("zebra"), tool("apple")], "nextCursor": "2" })),
        Some("2") => Act::Result(json!({ "tools": [tool("mango")] })),
        Some(_) => Act::Error("there is no such page"),
    });
    let server = McpServer::connect("fruit", stream, allowed()).await.unwrap();
    assert_eq!(names(server.tools().tools()), ["fruit__apple", "fruit__mango", "fruit__zebra"]);
    let specs = registry(&server).specs();
    assert_eq!(specs[0].description, "Does apple.");
    assert_eq!(specs[0].input_schema, tool("apple")["inputSchema"]);
    assert!(server.tools().left_out().is_empty());
}

#[tokio::test]
async fn tools_come_after_the_agents_own_which_win() {
    let (server, _) = with_tools(json!([tool("a"), tool("b")]), allowed()).await;
    let own = |name: &str| {
        TypedTool::new(name, "The agent's own.", |_: Anything| async { Ok::<_, String>("own".to_owned()) })
    };
    let mut tools = ToolRegistry::new().with(own("zz")).unwrap().with(own("s__b")).unwrap();
    server.tools().add_to(&mut tools).unwrap();
    let listed: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(listed, ["s__b", "zz", "s__a"]);
    assert_eq!(tools.shadowed(), ["s__b"]);
    assert_eq!(said(&tools, "s__b").await, "own");
    assert_eq!(said(&tools, "s__a").await, "done");
}

#[tokio::test]
async fn two_servers_of_one_name_do_not_mix() {
    let (one, _) = with_tools(json!([tool("a"), tool("b")]), allowed()).await;
    let (other, _) = with_tools(json!([tool("0"), tool("b")]), allowed()).await;
    let mut tools = registry(&one);
    let error = other.tools().add_to(&mut tools).unwrap_err();
    assert_eq!(error, RegistryError::Duplicate { name: "s__b".to_owned() });
    assert_eq!(tools.specs().len(), 2, "none of them is added if one is not");
}

#[tokio::test]
async fn a_tool_that_cannot_be_used_is_left_out_and_said_to_be() {
    let with = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
    let properties: serde_json::Map<String, Value> =
        (0..9_000).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect();
    let mut talker = tool("talker");
    talker["description"] = "x".repeat(20_001).into();
    let titled =
        json!({ "name": "titled", "title": "x".repeat(20_001), "inputSchema": { "type": "object" } });
    let (server, _) = with_tools(
        json!([
            tool("fine"),
            with("array", json!({ "type": "array" })),
            with("text", json!("no schema")),
            with("wrong", json!({ "type": "object", "required": "text" })),
            with("remote", json!({ "type": "object", "$ref": "https://example.org/schema.json" })),
            with("huge", json!({ "type": "object", "properties": properties })),
            talker,
            titled,
            tool(&"n".repeat(201)),
            tool("fine"),
            { "description": "no name" },
            7,
        ]),
        allowed(),
    )
    .await;
    assert_eq!(names(server.tools().tools()), ["s__fine"]);
    let said: Vec<String> = server.tools().left_out().iter().map(ToString::to_string).collect();
    let about = |name: &str, why: &str| {
        let begin = format!("the tool `{name}` of the MCP server `s` is left out: ");
        assert!(said.iter().any(|line| line.starts_with(&begin) && line.contains(why)), "{name}: {said:#?}");
    };
    about("array", r#"needs "type": "object""#);
    about("text", "expected a map");
    about("wrong", "required");
    about("remote", "example.org");
    about("huge", "more than 100000");
    about("talker", "more than 20000 characters");
    about("titled", "more than 20000 characters");
    about(&"n".repeat(201), "its name has more than 200 characters");
    about("fine", "listed twice");
    about("without a name", "missing field `name`");
    assert_eq!(said.len(), 11);
}

/// A server wrote orders for the model into a description, in tag characters that people do not see, and turned a name
/// around with a bidirectional override: the user who allowed the tool had read another text than the model.
#[tokio::test]
async fn words_that_people_do_not_see_are_escaped_before_a_model_reads_them() {
    let hidden = "Reads a file.\u{e0053}\u{e0065}\u{e006e}\u{e0064}\u{202e}\u{200b}\u{9b}\n\tThen stops.";
    let seen =
        "Reads a file.\\u{e0053}\\u{e0065}\\u{e006e}\\u{e0064}\\u{202e}\\u{200b}\\u{9b}\n\tThen stops.";
    let mut described = tool("described");
    described["description"] = hidden.into();
    described["inputSchema"] = json!({
        "type": "object",
        "properties": { "path": { "type": "string", "title": hidden, "description": hidden, "default": "a\nb" } },
    });
    let titled = json!({ "name": "titled", "title": hidden, "inputSchema": { "type": "object" } });
    let named = json!({ "name": "nam\u{202e}ed", "inputSchema": { "type": "object" } });
    let (property, value) = (json!({ "a\u{e0041}": {} }), json!({ "a": { "enum": ["b\u{200b}"] } }));
    let with = |name: &str, properties: Value| json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } });
    let tools = json!([described, titled, named, with("property", property), with("val\u{9b}ue", value)]);
    let (server, _) = with_tools(tools, allowed()).await;
    let specs = registry(&server).specs();
    let of = |name: &str| specs.iter().find(|spec| spec.name.starts_with(name)).unwrap();
    assert_eq!(of("s__described").description, seen);
    let path = &of("s__described").input_schema["properties"]["path"];
    assert_eq!((path["title"].as_str(), path["description"].as_str()), (Some(seen), Some(seen)));
    assert_eq!(path["default"], "a\nb");
    assert_eq!(of("s__titled").description, seen);
    assert_eq!(of("s__nam_ed_").description, "The tool `nam\\u{202e}ed`.");
    let left_out: Vec<String> = server.tools().left_out().iter().map(ToString::to_string).collect();
    let why = "is left out: its input schema has nonprinting characters in a name or a value";
    assert_eq!(
        left_out,
        ["property", "val\\u{9b}ue"].map(|name| format!("the tool `{name}` of the MCP server `s` {why}"))
    );
}

#[tokio::test]
async fn tools_that_are_too_much_together_are_left_out_from_there_on() {
    let big = |at: usize| {
        let mut tool = tool(&format!("t{at:02}"));
        tool["description"] = "x".repeat(19_000).into();
        tool
    };
    let (server, _) = with_tools((0..60).map(big).collect(), allowed()).await;
    let (there, left_out) = (server.tools().tools(), server.tools().left_out());
    assert_eq!(there.len() + left_out.len(), 60);
    assert_eq!(there.len(), 54, "a MiB has room for so many");
    assert!(left_out.iter().all(|tool| tool.reason == "the tools have more than 1048576 bytes together"));
}

#[tokio::test]
async fn a_change_that_could_not_be_looked_at_is_still_one() {
    let mut listed = 0;
    let (stream, _) = server(move |method, _| match method {
        "tools/list" => {
            listed += 1;
            if listed == 2 { Act::Error("not now") } else { Act::Result(json!({ "tools": [tool("a")] })) }
        }
        _ => {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            Act::First(vec![changed.to_string()], text("done"))
        }
    });
    let mut server = McpServer::connect("s", stream, allowed()).await.unwrap();
    assert_eq!(said(&registry(&server), "s__a").await, "done");
    while !server.tools_changed() {
        tokio::task::yield_now().await;
    }
    server.refresh().await.unwrap_err();
    assert!(server.tools_changed());
    server.refresh().await.unwrap();
    assert!(!server.tools_changed());
}

#[tokio::test]
async fn a_schema_that_leads_to_itself_does_no_harm() {
    let (server, _) = with_tools(
        json!([
            { "name": "itself", "inputSchema": { "type": "object", "$ref": "#" } },
            { "name": "all", "inputSchema": { "type": "object", "allOf": [{ "$ref": "#" }] } },
            { "name": "tree", "inputSchema": { "type": "object", "properties": { "left": { "$ref": "#" } } } },
            { "name": "no_type", "inputSchema": { "properties": {} } },
            { "name": "slow", "inputSchema": { "type": "object", "properties": { "text": { "pattern": "^(a+)+$" } } } },
        ]),
        allowed(),
    )
    .await;
    let tools = registry(&server);
    let text = format!("{}b", "a".repeat(40));
    for tool in server.tools().tools() {
        let call = superstep_nodes::message::ToolCall::new(
            "c",
            tool.name(),
            json!({ "text": text, "left": { "left": {} } }),
        );
        let outcome = make(&tools, &call).await.outcome();
        assert!(matches!(outcome, ToolOutcome::Ok | ToolOutcome::Invalid), "{}", tool.name());
    }
    assert_eq!(said(&tools, "s__no_type").await, "done");
}

#[tokio::test]
async fn what_an_unknown_server_says_of_its_tools_counts_for_nothing() {
    let mut reader = tool("reader");
    reader["annotations"] = json!({ "readOnlyHint": true, "idempotentHint": true, "destructiveHint": false });
    let (server, _) = with_tools(json!([reader]), McpOptions::new()).await;
    let (tools, input) = (registry(&server), json!({ "text": "t" }));
    let tool = &server.tools().tools()[0];
    assert!(!tool.is_read_only(&input) && !tool.is_concurrency_safe(&input) && tool.is_destructive(&input));
    assert_eq!(tool.effect(&input), ToolEffect::Changes);
    let result = make(&tools, &call("s__reader")).await;
    assert_eq!(result.outcome(), ToolOutcome::Denied);
    let read = result.content.to_text().into_owned();
    assert!(
        read.contains("it is a tool of the MCP server `s`, and nothing is known of what it does"),
        "{read}"
    );
    let shown = tool.classifier_input(&input).unwrap();
    assert_eq!(shown, r#"call the tool `reader` of the MCP server `s` with {"text":"t"}"#);
}

#[tokio::test]
async fn what_a_trusted_server_says_of_its_tools_counts() {
    let hinted = |name: &str, hints: Value| {
        let mut tool = tool(name);
        tool["annotations"] = hints;
        tool
    };
    let listed = json!([
        hinted("keep", json!({ "readOnlyHint": false, "idempotentHint": true, "destructiveHint": false })),
        hinted("read", json!({ "readOnlyHint": true })),
        hinted("wipe", json!({})),
    ]);
    let (server, _) = with_tools(listed, McpOptions::new().trust_hints()).await;
    let input = json!({ "text": "t" });
    let of = |at: usize| {
        let tool = &server.tools().tools()[at];
        (tool.effect(&input), tool.is_concurrency_safe(&input), tool.is_destructive(&input))
    };
    assert_eq!(of(0), (ToolEffect::Idempotent, false, false));
    assert_eq!(of(1), (ToolEffect::ReadOnly, true, false));
    assert_eq!(of(2), (ToolEffect::Changes, false, true));
    let tools = registry(&server).permissions(AllowReadOnly);
    assert_eq!(said(&tools, "s__read").await, "done");
    assert_eq!(make(&tools, &call("s__keep")).await.outcome(), ToolOutcome::Denied);
    // To believe a server is not to let it do everything.
    assert_eq!(make(&registry(&server), &call("s__wipe")).await.outcome(), ToolOutcome::Denied);
}

#[tokio::test]
async fn a_tool_that_is_allowed_is_left_to_the_policy() {
    let (server, _) = with_tools(json!([tool("a"), tool("b")]), McpOptions::new().allow_tool("a")).await;
    let tools = registry(&server);
    assert_eq!(said(&tools, "s__a").await, "done");
    assert_eq!(make(&tools, &call("s__b")).await.outcome(), ToolOutcome::Denied);
    let planning = tools.permissions(AllowReadOnly);
    assert_eq!(make(&planning, &call("s__a")).await.outcome(), ToolOutcome::Denied);
}

#[tokio::test]
async fn tools_stay_the_same_until_they_are_listed_again() {
    let mut listed = 0;
    let (stream, _) = server(move |method, _| match method {
        "tools/list" => {
            listed += 1;
            Act::Result(json!({ "tools": [if listed == 1 { tool("old") } else { tool("new") }] }))
        }
        _ => {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            Act::First(vec![changed.to_string()], text("done"))
        }
    });
    let mut server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&server);
    let fingerprint = tools.fingerprint();
    assert!(!server.tools_changed());
    assert_eq!(said(&tools, "s__old").await, "done");
    while !server.tools_changed() {
        tokio::task::yield_now().await;
    }
    assert_eq!(names(server.tools().tools()), ["s__old"]);
    assert_eq!(tools.fingerprint(), fingerprint);
    assert_eq!(names(server.refresh().await.unwrap().tools()), ["s__new"]);
    assert!(!server.tools_changed());
    assert_eq!(tools.fingerprint(), fingerprint);
}

#[tokio::test]
async fn a_list_without_end_is_no_list() {
    let (stream, _) = server(|_, _| Act::Result(json!({ "tools": [tool("a")], "nextCursor": "again" })));
    let error = McpServer::connect("s", stream, allowed()).await.unwrap_err();
    let said = "the MCP server `s` does not list its tools: its list has more than 200 pages";
    assert_eq!(error.to_string(), said);
    let many: Vec<Value> = (0..1_001).map(|at| tool(&format!("t{at}"))).collect();
    let (stream, _) = server(move |_, _| Act::Result(json!({ "tools": many })));
    let error = McpServer::connect("s", stream, allowed()).await.unwrap_err();
    assert!(error.to_string().ends_with("it has more than 1000 tools"), "{error}");
}

#[tokio::test]
async fn a_server_that_lists_nothing_is_an_error() {
    let (stream, _) = server(|_, _| Act::Error("no"));
    let error = McpServer::connect("s", stream, allowed()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `s` does not list its tools: no");
    let (stream, _) = server(|_, _| Act::Result(json!({ "tool": [] })));
    let error = McpServer::connect("s", stream, allowed()).await.unwrap_err();
    assert!(matches!(error, McpError::List { .. }), "{error}");
    let (stream, _) = server(|_, _| Act::Leave);
    let error = McpServer::connect("s", stream, allowed()).await.unwrap_err();
    assert!(error.to_string().ends_with("it has ended the connection"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for_forever() {
    let hurried = || allowed().connect_time(Duration::from_secs(5));
    let (near, _far) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(near);
    let stream = crate::McpStream::new(read, write);
    let error = McpServer::connect("s", stream, hurried()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `s` did not answer within 5s");
    let (stream, _) = server(|_, _| Act::Hang);
    let error = McpServer::connect("s", stream, hurried()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `s` did not answer within 5s");
}

#[tokio::test]
async fn a_server_needs_a_name_that_tools_can_begin_with() {
    for name in ["", "a b", "ä", "a.b", "a23456789012345678901234567890123"] {
        let (stream, _) = server(|_, _| Act::Hang);
        let error = McpServer::connect(name, stream, allowed()).await.unwrap_err();
        assert_eq!(error, McpError::Name { name: name.to_owned() });
    }
}
