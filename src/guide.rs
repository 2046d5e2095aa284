//! The guide: the pages of the folder `docs`, one module per page.
//!
//! Each page defines its links to other pages at its end, as links to files. The macro defines the same links
//! before the page, as links to modules, and the first definition of a link counts.

macro_rules! page {
    ($file:literal) => {
        concat!(
            "[../README.md#examples]: https://github.com/superstep-rs/superstep#examples\n",
            "[../benches/README.md]: https://github.com/superstep-rs/superstep/blob/main/benches/README.md\n",
            "[../examples/opening_hours/graph.rs]: https://github.com/superstep-rs/superstep/blob/main/examples/opening_hours/graph.rs\n",
            "[../examples/review.rs]: https://github.com/superstep-rs/superstep/blob/main/examples/review.rs\n",
            "[../examples/several_machines/main.rs]: https://github.com/superstep-rs/superstep/blob/main/examples/several_machines/main.rs\n",
            "[../examples/tests/guide/story.rs]: https://github.com/superstep-rs/superstep/blob/main/examples/tests/guide/story.rs\n",
            "[agent-cli.md]: crate::guide::agent_cli\n",
            "[agent.svg]: https://raw.githubusercontent.com/superstep-rs/superstep/main/docs/agent.svg\n",
            "[agentic-loop.md]: crate::guide::agentic_loop\n",
            "[assistant.md]: crate::guide::assistant\n",
            "[checkpoints.md]: crate::guide::checkpoints\n",
            "[checkpoints.md#durability-levels]: crate::guide::checkpoints#durability-levels\n",
            "[checkpoints.md#old-checkpoints]: crate::guide::checkpoints#old-checkpoints\n",
            "[checkpoints.md#the-files-beside-the-file]: crate::guide::checkpoints#the-files-beside-the-file\n",
            "[cli.md]: crate::guide::cli\n",
            "[cli.md#how-do-i-look-into-a-database]: crate::guide::cli#how-do-i-look-into-a-database\n",
            "[debugging.md]: crate::guide::debugging\n",
            "[dashboards/agents.json]: https://github.com/superstep-rs/superstep/blob/main/docs/dashboards/agents.json\n",
            "[dynamic-graphs.md]: crate::guide::dynamic_graphs\n",
            "[effects-and-resume.md]: crate::guide::effects_and_resume\n",
            "[effects-and-resume.md#effects-with-an-unknown-outcome]: crate::guide::effects_and_resume#effects-with-an-unknown-outcome\n",
            "[errors-and-retries.md]: crate::guide::errors_and_retries\n",
            "[errors-and-retries.md#error-handlers]: crate::guide::errors_and_retries#error-handlers\n",
            "[events-and-tracing.md]: crate::guide::events_and_tracing\n",
            "[events-and-tracing.md#custom-events]: crate::guide::events_and_tracing#custom-events\n",
            "[events-and-tracing.md#spans]: crate::guide::events_and_tracing#spans\n",
            "[execution.md#how-do-i-repeat-a-request-safely]: crate::guide::execution#how-do-i-repeat-a-request-safely\n",
            "[execution.md#merge-order]: crate::guide::execution#merge-order\n",
            "[execution.md#two-runs-on-one-thread-at-once]: crate::guide::execution#two-runs-on-one-thread-at-once\n",
            "[file-format.md]: crate::guide::file_format\n",
            "[flows.md]: crate::guide::flows\n",
            "[interrupts.md]: crate::guide::interrupts\n",
            "[knowledge.md]: crate::guide::knowledge\n",
            "[long-conversations.md]: crate::guide::long_conversations\n",
            "[mcp.md]: crate::guide::mcp\n",
            "[metrics.md]: crate::guide::metrics\n",
            "[models.md]: crate::guide::models\n",
            "[nodes-and-extractors.md]: crate::guide::nodes_and_extractors\n",
            "[permissions.md]: crate::guide::permissions\n",
            "[postgres.md]: crate::guide::postgres\n",
            "[postgres.md#encryption]: crate::guide::postgres#encryption\n",
            "[postgres.md#looking-into-a-database]: crate::guide::postgres#looking-into-a-database\n",
            "[postgres.md#signals]: crate::guide::postgres#signals\n",
            "[restate.md]: crate::guide::restate\n",
            "[restate.md#how-do-i-run-it-on-several-machines]: crate::guide::restate#how-do-i-run-it-on-several-machines\n",
            "[restate.md#how-does-a-server-hand-its-runs-to-restate]: crate::guide::restate#how-does-a-server-hand-its-runs-to-restate\n",
            "[routing-and-fan-out.md]: crate::guide::routing_and_fan_out\n",
            "[schemas/README.md]: https://github.com/superstep-rs/superstep/blob/main/docs/schemas/README.md\n",
            "[sessions.md]: crate::guide::sessions\n",
            "[several-machines.md#how-do-i-upgrade-the-programs-one-by-one]: crate::guide::several_machines#how-do-i-upgrade-the-programs-one-by-one\n",
            "[several-processes.md]: crate::guide::several_processes\n",
            "[several-processes.md#leases]: crate::guide::several_processes#leases\n",
            "[several-processes.md#one-superstep-in-several-processes]: crate::guide::several_processes#one-superstep-in-several-processes\n",
            "[secrets.md]: crate::guide::secrets\n",
            "[serving.md]: crate::guide::serving\n",
            "[serving.md#how-do-i-look-at-a-file-without-its-program]: crate::guide::serving#how-do-i-look-at-a-file-without-its-program\n",
            "[serving.md#which-endpoints-are-there]: crate::guide::serving#which-endpoints-are-there\n",
            "[state-and-reducers.md#changing-or-migrating-a-state-type]: crate::guide::state_and_reducers#changing-or-migrating-a-state-type\n",
            "[state-and-reducers.md#secret-fields]: crate::guide::state_and_reducers#secret-fields\n",
            "[state-and-reducers.md#built-in-reducers]: crate::guide::state_and_reducers#built-in-reducers\n",
            "[store.md]: crate::guide::store\n",
            "[streaming.md]: crate::guide::streaming\n",
            "[studio.md]: crate::guide::studio\n",
            "[studio/difference.png]: https://raw.githubusercontent.com/superstep-rs/superstep/main/docs/studio/difference.png\n",
            "[studio/edit.png]: https://raw.githubusercontent.com/superstep-rs/superstep/main/docs/studio/edit.png\n",
            "[studio/graph.png]: https://raw.githubusercontent.com/superstep-rs/superstep/main/docs/studio/graph.png\n",
            "[sub-agents.md]: crate::guide::sub_agents\n",
            "[supervisor.md]: crate::guide::supervisor\n",
            "[testing.md]: crate::guide::testing\n",
            "[time-travel.md]: crate::guide::time_travel\n",
            "[tools.md]: crate::guide::tools\n",
            "[tutorial.md]: crate::guide::tutorial\n",
            "[tutorial.md#an-agent-with-tools]: crate::guide::tutorial#an-agent-with-tools\n",
            "[subgraphs.md]: crate::guide::subgraphs\n",
            "[verification.md]: crate::guide::verification\n",
            "[writing-a-saver.md]: crate::guide::writing_a_saver\n",
            "\n",
            include_str!(concat!("../docs/", $file))
        )
    };
}

macro_rules! pages {
    ($($module:ident $file:literal)*) => {
        $(
            #[doc = page!($file)]
            pub mod $module {}
        )*
    };
}

pages! {
    tutorial "tutorial.md"
    graphs "graphs.md"
    state_and_reducers "state-and-reducers.md"
    nodes_and_extractors "nodes-and-extractors.md"
    routing_and_fan_out "routing-and-fan-out.md"
    subgraphs "subgraphs.md"
    flows "flows.md"
    dynamic_graphs "dynamic-graphs.md"
    execution "execution.md"
    checkpoints "checkpoints.md"
    several_processes "several-processes.md"
    postgres "postgres.md"
    restate "restate.md"
    several_machines "several-machines.md"
    time_travel "time-travel.md"
    debugging "debugging.md"
    cli "cli.md"
    studio "studio.md"
    serving "serving.md"
    interrupts "interrupts.md"
    effects_and_resume "effects-and-resume.md"
    errors_and_retries "errors-and-retries.md"
    streaming "streaming.md"
    events_and_tracing "events-and-tracing.md"
    secrets "secrets.md"
    store "store.md"
    testing "testing.md"
    agent_loop "agent-loop.md"
    agentic_loop "agentic-loop.md"
    assistant "assistant.md"
    permissions "permissions.md"
    sessions "sessions.md"
    sub_agents "sub-agents.md"
    agent_cli "agent-cli.md"
    coming_from_other_agents "coming-from-other-agents.md"
    supervisor "supervisor.md"
    models "models.md"
    tools "tools.md"
    mcp "mcp.md"
    knowledge "knowledge.md"
    long_conversations "long-conversations.md"
    verification "verification.md"
    metrics "metrics.md"
    photo_critic "photo-critic.md"
    coming_from_langgraph "coming-from-langgraph.md"
    reliability "reliability.md"
    writing_a_saver "writing-a-saver.md"
    file_format "file-format.md"
}
