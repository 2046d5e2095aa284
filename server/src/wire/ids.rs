//! The ids of clients.
//!
//! Tasks and questions have ids of 32 hexadecimal digits. Clients expect those of tasks as UUIDs, and namespaces of
//! subgraphs as `node:task|node:task`.

use uuid::Uuid;

use super::Failure;

/// The namespace of the ids of default assistants, which clients compute, too.
const ASSISTANTS: Uuid = Uuid::from_u128(0x6ba7_b821_9dad_11d1_80b4_00c0_4fd4_30c8);

/// The namespace of ids that are derived from a run.
const DERIVED: Uuid = Uuid::from_u128(0x5f0d_9a3e_7c55_4b0e_9d5b_1b6f_0c1f_7a11);

/// The most characters of an id of a client.
const MOST: usize = 255;

/// Checks an id that a client chose: letters, digits and `_.:-`, up to 255 characters. `what` names its kind for the
/// error, such as `thread`.
///
/// # Errors
/// Returns status 422 for another id.
pub(crate) fn check(what: &str, id: &str) -> Result<(), Failure> {
    let admitted = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let fits = (1..=MOST).contains(&id.len()) && id.chars().all(admitted);
    let wrong =
        || Failure::invalid(format!("Invalid {what} ID: must be 1 to {MOST} letters, digits or _.:-"));
    fits.then_some(()).ok_or_else(wrong)
}

/// Returns the id of the default assistant of a graph.
pub(crate) fn default_assistant(graph: &str) -> String {
    Uuid::new_v5(&ASSISTANTS, graph.as_bytes()).to_string()
}

/// Returns an id that is the same for the same parts, such as a run and a position in its input.
pub(crate) fn derived(parts: &[&str]) -> String {
    Uuid::new_v5(&DERIVED, parts.join("\u{1f}").as_bytes()).to_string()
}

/// Returns the id of a task for clients: a UUID.
pub(crate) fn task(id: &str) -> String {
    Uuid::try_parse(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

/// Returns the id of a task or a question from the form that clients have.
pub(crate) fn hexadecimal(id: &str) -> String {
    Uuid::try_parse(id).map_or_else(|_| id.to_owned(), |id| id.simple().to_string())
}

/// Returns the segment of a namespace for the subgraph of a task.
pub(crate) fn segment(node: &str, id: &str) -> String {
    format!("{node}:{}", task(id))
}

/// Returns the namespace below another one.
pub(crate) fn below(namespace: &str, node: &str, id: &str) -> String {
    match namespace {
        "" => segment(node, id),
        above => format!("{above}|{}", segment(node, id)),
    }
}

/// Returns the tasks of a namespace, as the core names them, from the outermost in.
pub(crate) fn tasks_of(namespace: &str) -> Vec<String> {
    let tasks = namespace.split('|').filter(|segment| !segment.is_empty());
    tasks.map(|segment| hexadecimal(segment.rsplit(':').next().unwrap_or(segment))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_assistants_have_the_ids_that_clients_compute() {
        assert_eq!(default_assistant("agent"), "fe096781-5601-53d2-b2f6-0d3403f7e9ca");
        assert_eq!(default_assistant("tooly"), "220b66ed-6c90-5d77-82bc-0c6b576c2951");
    }

    #[test]
    fn lenient_ids_need_not_be_uuids() {
        assert!(check("thread", "user:42_a.b-c").is_ok());
        for id in ["", "a/b", "a b", "ä", &"x".repeat(256)] {
            assert_eq!(check("thread", id).unwrap_err().status, 422, "{id:?}");
        }
    }

    #[test]
    fn a_namespace_names_nodes_and_tasks() {
        let outer = below("", "worker", "809ce494c6611c54569ef0c6d3c6a8f2");
        assert_eq!(outer, "worker:809ce494-c661-1c54-569e-f0c6d3c6a8f2");
        let inner = below(&outer, "w2", "26b151a786a8fd5f81898730c48830dc");
        let tasks = ["809ce494c6611c54569ef0c6d3c6a8f2", "26b151a786a8fd5f81898730c48830dc"];
        assert_eq!(tasks_of(&inner), tasks);
        assert_eq!(tasks_of(""), Vec::<String>::new());
    }
}
