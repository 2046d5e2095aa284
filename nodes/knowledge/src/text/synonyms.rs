//! Words that mean the same in texts about software, and words with two spellings.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Returns other words that may stand for a word (in lower case).
pub(crate) fn synonyms(word: &str) -> Vec<String> {
    static GROUP_OF: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
        let members = |(number, group): (usize, &&'static str)| {
            group.split(' ').map(move |member| (super::stem(member), number)).collect::<Vec<_>>()
        };
        GROUPS.iter().enumerate().flat_map(members).collect()
    });
    let stem = super::stem(word);
    let group = GROUP_OF.get(&stem).map_or("", |number| GROUPS[*number]);
    let same_meaning = group.split(' ').filter(|member| !member.is_empty() && super::stem(member) != stem);
    same_meaning.map(str::to_owned).chain(other_spelling(word)).collect()
}

/// Groups of words that mean the same. A word is in one group only.
const GROUPS: &[&str] = &[
    "argument args parameter param",
    "begin launch startup",
    "benchmark bench",
    "big large huge",
    "choose select pick",
    "combine merge",
    "command verb subcommand",
    "concurrent parallel simultaneous",
    "config configuration configure setting",
    "create construct generate",
    "damaged corrupt corrupted broken",
    "database db",
    "delete remove erase",
    "dependency deps",
    "directory folder dir",
    "documentation docs documents",
    "environment env",
    "error failure fault",
    "exit terminate quit",
    "fast quick quickly rapid speed",
    "forbid deny disallow prohibit",
    "function fn",
    "install installation setup",
    "invalid incorrect wrong",
    "licence license",
    "maximum max",
    "message msg",
    "minimum min",
    "modify alter change",
    "multiple several",
    "permit permission",
    "repository repo",
    "store save persist",
    "tutorial walkthrough guide",
];

/// Returns the British spelling of an American one and the other way round, for the regular cases.
fn other_spelling(word: &str) -> Option<String> {
    const PAIRS: &[(&str, &str)] = &[
        ("ise", "ize"),
        ("ised", "ized"),
        ("ises", "izes"),
        ("iser", "izer"),
        ("ising", "izing"),
        ("isation", "ization"),
        ("yse", "yze"),
        ("our", "or"),
        ("ours", "ors"),
        ("oured", "ored"),
        ("elled", "eled"),
        ("elling", "eling"),
    ];
    PAIRS.iter().find_map(|(british, american)| {
        let respelled = |from: &str, to: &str| {
            word.strip_suffix(from).filter(|start| start.len() > 2).map(|start| format!("{start}{to}"))
        };
        respelled(british, american).or_else(|| respelled(american, british))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn forms_of_a_word_have_its_synonyms() {
        assert_eq!(synonyms("deleted"), ["remove", "erase"]);
        assert_eq!(synonyms("folders"), ["directory", "dir"]);
        assert_eq!(synonyms("graph"), [""; 0]);
    }

    #[test]
    fn both_spellings_are_known() {
        assert_eq!(synonyms("serialise"), ["serialize"]);
        assert_eq!(synonyms("behavior"), ["behaviour"]);
        assert_eq!(synonyms("colour"), ["color"]);
    }

    #[test]
    fn a_word_is_in_one_group_only() {
        let mut seen = HashSet::new();
        for group in GROUPS {
            let stems: HashSet<_> = group.split(' ').map(super::super::stem).collect();
            assert!(stems.iter().all(|stem| seen.insert(stem.clone())), "{group}");
        }
    }
}
