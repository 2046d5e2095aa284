//! Words that users and documents have for the same matter.
//!
//! A question is rarely in the words of the documents: a user speaks of a workflow and a picture where they
//! speak of a graph and a drawing. The tables below belong to the field (programs that keep state, agents,
//! models) and to no document. They relate words loosely: a related word is worth less than the word itself.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::{stem, synonyms};

/// Returns the stems of the words that may be meant by a word (in lower case), its synonyms among them and
/// itself not.
pub(crate) fn related_stems(word: &str) -> BTreeSet<String> {
    static GROUPS_OF: LazyLock<HashMap<String, Vec<usize>>> = LazyLock::new(|| {
        let mut groups_of: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, group) in GROUPS.iter().enumerate() {
            for member in group.split(' ') {
                groups_of.entry(stem(member)).or_default().push(number);
            }
        }
        groups_of
    });
    let own = stem(word);
    let groups = GROUPS_OF.get(&own).into_iter().flatten();
    let members = groups.flat_map(|number| GROUPS[*number].split(' ')).map(stem);
    let mut related: BTreeSet<_> = members.chain(synonyms(word).iter().map(|word| stem(word))).collect();
    related.remove(&own);
    related
}

/// Returns the word that says the same as two words that follow each other.
pub(crate) fn word_for(first: &str, second: &str) -> Option<&'static str> {
    let phrase = PHRASES.iter().find(|(phrase, _)| phrase.split_once(' ') == Some((first, second)));
    phrase.map(|(_, word)| *word)
}

/// Groups of words that are used for one another. A word may be in several groups; those that are in one of
/// [`synonyms`] already are not repeated.
const GROUPS: &[&str] = &[
    "abort cancel stop terminate quit kill",
    "access reach touch",
    "accumulate aggregate combine merge reducer sum",
    "agent assistant bot",
    "answer reply respond response",
    "app application program software",
    "append add insert push",
    "apply use",
    "approval approve confirm consent permission permit allow authorise",
    "approval human person people interrupt",
    "argument args parameter param extractor",
    "ask question query",
    "async asynchronous",
    "attempt try retry",
    "authenticate authentication login credential",
    "backend saver checkpointer persistence",
    "backup copy dump",
    "begin start launch startup",
    "benchmark bench performance speed fast quick",
    "big large huge long",
    "blocking synchronous slow",
    "bug defect mistake problem wrong incorrect invalid",
    "cache reuse memoize",
    "cassette recording fixture mock fake stub scripted",
    "cause reason",
    "change modify alter edit update",
    "chart diagram draw drawing picture visualize plot",
    "chat conversation dialogue session thread",
    "check validate verify verification correct",
    "checkpoint snapshot savepoint",
    "choose select pick decide decision",
    "cite citation source reference",
    "cleanup defer deferred finally",
    "command cli terminal shell console",
    "compact compaction compress shorten summary summarise",
    "compare diff difference differ",
    "compile recompile",
    "computer machine host",
    "condition conditional depend branch route decide",
    "conformance suite test",
    "connect connection endpoint",
    "continue resume restart",
    "cost price charge expense money budget",
    "count counter number",
    "crash kill restart",
    "create construct generate build make design",
    "cycle loop endless infinite",
    "dangerous harmful unsafe risky sandbox",
    "database db sqlite sql storage",
    "deadline timeout expire",
    "debug debugger debugging",
    "default fallback",
    "define declare describe description",
    "delete remove erase clear discard",
    "dependency deps inject context",
    "detect notice find",
    "disk drive storage",
    "duplicate twice again repeat",
    "dynamic runtime described",
    "email mail",
    "encrypt encryption decrypt",
    "equivalent counterpart correspond",
    "error failure fail fault exception throw raise panic",
    "event notify notification callback hook listener",
    "examine inspect look view show",
    "example sample demo",
    "execute run execution",
    "exit finish end terminate",
    "expire expiry ttl live lifetime",
    "export import move transfer",
    "fetch get load",
    "field property attribute variable column",
    "forbid deny disallow prohibit reject refuse",
    "force require must",
    "fork branch clone",
    "function fn method",
    "future later",
    "graph workflow pipeline",
    "grow growth size",
    "guarantee promise",
    "hide redact mask",
    "history past earlier previous old ago yesterday version revision",
    "identifier id",
    "image photo photograph picture vision",
    "interrupt pause suspend",
    "isolate isolated sandbox",
    "join wait synchronise",
    "judge evaluate evaluator score quality",
    "key secret password credential sensitive private",
    "knowledge retrieval rag",
    "label name tag",
    "lease lock exclusive own",
    "limit cap bound",
    "list array vec",
    "live stream streaming progress realtime",
    "llm model",
    "local offline",
    "log trace record",
    "meaning semantic embedding vector",
    "memory remember recall store",
    "migrate migration upgrade",
    "monitor observe observer watch metric measure statistics",
    "namespace group",
    "nested nest inner child subgraph",
    "network http internet",
    "parse read",
    "pending wait waiting unanswered",
    "platform system linux",
    "plugin tool extension",
    "postgres postgresql",
    "process server worker instance",
    "production rollout deploy deployment",
    "provider vendor",
    "prune retention shrink",
    "random chance",
    "recover restore",
    "repeat rerun replay",
    "request call",
    "route edge transition",
    "safe secure security sandbox",
    "schedule cron timer",
    "schema shape structure",
    "share common shared",
    "split chunk cut",
    "step superstep",
    "store save persist storage keep",
    "table row column",
    "task job",
    "trouble problem issue",
    "undo revert rollback",
    "unit isolated alone",
    "user customer",
    "value data",
];

/// Phrases for which there is a word.
const PHRASES: &[(&str, &str)] = &[
    ("at once", "concurrent"),
    ("command line", "terminal"),
    ("give up", "stop"),
    ("go back", "earlier"),
    ("look into", "inspect"),
    ("same time", "concurrent"),
    ("side effect", "effect"),
    ("time limit", "timeout"),
    ("try again", "retry"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_users_have_those_of_documents() {
        assert!(related_stems("workflows").contains("graph"));
        assert!(related_stems("picture").contains(&stem("drawing")));
        assert!(related_stems("licence").contains(&stem("license")), "synonyms are related");
        assert!(!related_stems("graph").contains("graph"), "a word is not related to itself");
        assert!(related_stems("zebra").is_empty());
    }

    #[test]
    fn a_phrase_has_its_word() {
        assert_eq!(word_for("try", "again"), Some("retry"));
        assert_eq!(word_for("again", "try"), None);
    }

    #[test]
    fn groups_are_in_order_and_relate_several_words() {
        assert!(GROUPS.is_sorted());
        for group in GROUPS {
            let stems: BTreeSet<_> = group.split(' ').map(stem).collect();
            assert!(stems.len() > 1, "{group}");
        }
    }
}
