//! The events that a client of a thread asks for.

use serde_json::Value;

use crate::wire::Failure;
use crate::wire::members::{Members, index};

/// A channel of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The state after each superstep.
    Values,
    /// The updates of each task.
    Updates,
    /// Messages as they arrive from models.
    Messages,
    /// Calls of tools.
    Tools,
    /// Events of nodes; only those with this name, if there is one.
    Custom(Option<String>),
    /// The start and the end of runs and subgraphs.
    Lifecycle,
    /// Open questions.
    Input,
    /// The start and the end of each task.
    Tasks,
    /// The stored checkpoints.
    Checkpoints,
}

impl Channel {
    const NAMED: [(&'static str, Self); 9] = [
        ("values", Self::Values),
        ("updates", Self::Updates),
        ("messages", Self::Messages),
        ("tools", Self::Tools),
        ("custom", Self::Custom(None)),
        ("lifecycle", Self::Lifecycle),
        ("input", Self::Input),
        ("tasks", Self::Tasks),
        ("checkpoints", Self::Checkpoints),
    ];

    fn read(name: &str) -> Option<Self> {
        if let Some(custom) = name.strip_prefix("custom:").filter(|custom| !custom.is_empty()) {
            return Some(Self::Custom(Some(custom.to_owned())));
        }
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, channel)| channel.clone())
    }

    /// Returns `true` if a client of this channel gets the events of `event`, a channel with the name of a custom event.
    fn covers(&self, event: &Self) -> bool {
        match (self, event) {
            (Self::Custom(None), Self::Custom(_)) => true,
            (asked, event) => asked == event,
        }
    }
}

/// A selection of a thread's events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventFilter {
    channels: Vec<Channel>,
    /// The namespaces that events may be below; all without any.
    namespaces: Option<Vec<Vec<String>>>,
    /// The largest number of levels below one of them.
    depth: Option<usize>,
    /// The number of the last event that the client has; `None` for the beginning.
    pub(crate) since: Option<u64>,
}

impl EventFilter {
    /// Reads the body of `POST /threads/{thread}/stream/events`.
    ///
    /// # Errors
    /// Returns status 400 for unknown channels and members of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let read = || {
            let members = Members::of(body)?;
            let names = members.texts("channels")?.ok_or_else(|| members.missing("channels"))?;
            let namespaces = members.list("namespaces")?.map(|all| {
                let read = all.iter().map(|namespace| {
                    let segments =
                        namespace.as_array()?.iter().map(|segment| segment.as_str().map(str::to_owned));
                    segments.collect::<Option<Vec<_>>>()
                });
                let read = read.collect::<Option<Vec<_>>>();
                read.ok_or_else(|| members.invalid("namespaces", "expected a list of lists of strings"))
            });
            Ok(Self {
                channels: channels(&names)?,
                namespaces: namespaces.transpose()?,
                depth: members.whole("depth")?.map(index),
                since: members.whole("since")?,
            })
        };
        read().map_err(|failure: Failure| Failure { status: 400, ..failure })
    }

    /// Returns `true` if the client asked for events of this channel in this namespace.
    pub(crate) fn passes(&self, channel: &Channel, namespace: &[String]) -> bool {
        self.channels.iter().any(|asked| asked.covers(channel)) && self.is_in(namespace)
    }

    /// Returns `true` if the client asked for events of this channel in some namespace.
    pub(crate) fn wants(&self, channel: &Channel) -> bool {
        self.channels.iter().any(|asked| asked.covers(channel))
    }

    fn is_in(&self, namespace: &[String]) -> bool {
        let root = [Vec::new()];
        let prefixes = self.namespaces.as_deref().filter(|prefixes| !prefixes.is_empty()).unwrap_or(&root);
        prefixes.iter().any(|prefix| {
            let begins = namespace.len() >= prefix.len()
                && prefix.iter().zip(namespace).all(|(asked, segment)| is_segment(asked, segment));
            begins && self.depth.is_none_or(|depth| namespace.len() - prefix.len() <= depth)
        })
    }
}

fn channels(names: &[String]) -> Result<Vec<Channel>, Failure> {
    let unknown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| Channel::read(name).is_none()).collect();
    if names.is_empty() || !unknown.is_empty() {
        let known: Vec<&str> = Channel::NAMED.iter().map(|(name, _)| *name).collect();
        return Err(Failure::bad_request(format!(
            "channels contains unsupported entries: {}. Allowed: {}, or custom:<name>",
            unknown.join(", "),
            known.join(", ")
        )));
    }
    Ok(names.iter().filter_map(|name| Channel::read(name)).collect())
}

/// Returns `true` if a segment is the one that was asked for. One without a task matches all tasks of its node.
fn is_segment(asked: &str, segment: &str) -> bool {
    asked == segment || !asked.contains(':') && segment.split(':').next() == Some(asked)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filter(body: Value) -> EventFilter {
        EventFilter::read(&body).unwrap()
    }

    fn namespace(text: &str) -> Vec<String> {
        text.split('|').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn a_namespace_passes_by_prefix_and_depth() {
        let all = filter(json!({ "channels": ["values"] }));
        assert!(all.passes(&Channel::Values, &namespace("a:1|b:2")));
        assert!(!all.passes(&Channel::Updates, &[]));
        let shallow = filter(json!({ "channels": ["values"], "namespaces": [[]], "depth": 1 }));
        assert!(shallow.passes(&Channel::Values, &namespace("a:1")));
        assert!(!shallow.passes(&Channel::Values, &namespace("a:1|b:2")));
        let below = filter(json!({ "channels": ["values"], "namespaces": [["a"], ["b:2"]], "depth": 0 }));
        for (place, passes) in
            [("a:1", true), ("a:9", true), ("b:2", true), ("b:3", false), ("", false), ("ab:1", false)]
        {
            assert_eq!(below.passes(&Channel::Values, &namespace(place)), passes, "{place}");
        }
    }

    #[test]
    fn custom_events_pass_by_name() {
        let named = filter(json!({ "channels": ["custom:progress"] }));
        assert!(named.passes(&Channel::Custom(Some("progress".into())), &[]));
        assert!(!named.passes(&Channel::Custom(Some("other".into())), &[]));
        assert!(
            filter(json!({ "channels": ["custom"] })).passes(&Channel::Custom(Some("other".into())), &[])
        );
    }

    #[test]
    fn a_wrong_filter_is_a_bad_request() {
        for body in [
            json!({ "channels": ["nope"] }),
            json!({ "channels": [] }),
            json!({}),
            json!({ "channels": ["values"], "namespaces": ["a"] }),
            json!({ "channels": ["values"], "since": -1 }),
            json!([]),
        ] {
            assert_eq!(EventFilter::read(&body).unwrap_err().status, 400, "{body}");
        }
    }
}
