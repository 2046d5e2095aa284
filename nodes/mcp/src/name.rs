//! The local names of a server's tools.

/// The maximum number of letters of a server's name.
const MOST_OF_SERVER: usize = 32;

/// The maximum number of letters of a tool's name.
const MOST_OF_TOOL: usize = 64;

/// The number of digits of the digest in a name that had to be changed.
const DIGITS: usize = 8;

/// Returns `true` if a name is permitted for a server.
pub(super) fn is_server_name(name: &str) -> bool {
    (1..=MOST_OF_SERVER).contains(&name.len()) && name.bytes().all(is_letter)
}

/// The name of a server's tool for models: `server__tool`. A name that models cannot call is written with letters that
/// they can, cut where it is too long, and ends with digits of its digest: two tools do not get the same name that way,
/// and a tool has the same one whatever others there are.
pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let most = MOST_OF_TOOL - server.len() - "__".len();
    if (1..=most).contains(&tool.len()) && tool.bytes().all(is_letter) {
        return format!("{server}__{tool}");
    }
    let digest = blake3::hash(tool.as_bytes()).to_hex();
    let letters = tool.chars().map(|letter| match u8::try_from(letter) {
        Ok(byte) if is_letter(byte) => letter,
        _ => '_',
    });
    let kept: String = letters.take(most - DIGITS - 1).collect();
    format!("{server}__{kept}_{}", &digest[..DIGITS])
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tool_has_its_servers_name_before_its_own() {
        assert_eq!(tool_name("files", "read-file"), "files__read-file");
    }

    #[test]
    fn names_that_models_cannot_call_are_changed_and_stay_different() {
        let names = ["a.b", "a/b", "a b", "ä_b", "", "a_b"].map(|tool| tool_name("s", tool));
        assert!(names[0].starts_with("s__a_b_"), "{names:?}");
        assert_eq!(names[5], "s__a_b");
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
    }

    proptest! {
        #[test]
        fn every_name_can_be_called(server in "[a-zA-Z0-9_-]{1,32}", tool in ".{0,130}") {
            prop_assert!(is_server_name(&server));
            let name = tool_name(&server, &tool);
            prop_assert!(name.len() <= 64 && name.bytes().all(is_letter), "{name}");
        }

        #[test]
        fn long_names_that_begin_alike_are_different(begin in "[a-z]{64}", a in "[a-z]{3}", b in "[a-z]{3}") {
            prop_assume!(a != b);
            let (a, b) = (tool_name("server", &format!("{begin}{a}")), tool_name("server", &format!("{begin}{b}")));
            prop_assert_ne!(a, b);
        }
    }
}
