//! Rules about paths, such as `src/**`.

use std::path::{Component, Path};

use globset::GlobBuilder;
use superstep_nodes::tool::{PermissionMatcher, PermissionParts, Touch};

use super::wildcard::fits;

/// Compares rules about files with the path of a file. `None` for a path that leads out of the workspace.
pub(super) fn path_matcher(named: &str) -> Option<PermissionMatcher> {
    Some(PermissionMatcher::of(PathPart { path: without_detours(named)?, reach: Reach::File }))
}

/// Compares rules about files with the folder of a search, which reads everything below it.
pub(super) fn folder_matcher(named: &str) -> Option<PermissionMatcher> {
    Some(PermissionMatcher::of(PathPart { path: without_detours(named)?, reach: Reach::Below }))
}

/// Returns a path without `.` and `..`; `None` if it leads out of its folder.
pub(super) fn without_detours(named: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(named).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// The path of a call.
struct PathPart {
    path: String,
    reach: Reach,
}

/// The files that a call is about.
enum Reach {
    File,
    Below,
}

impl PermissionParts for PathPart {
    fn count(&self) -> usize {
        1
    }

    fn fits(&self, _: usize, pattern: &str) -> bool {
        path_fits(pattern, &self.path).unwrap_or(false)
    }

    /// A rule that cannot be read is about every path: a mistake in a rule that denies must not permit anything.
    fn touches(&self, pattern: &str) -> Touch {
        match path_fits(pattern, &self.path) {
            None | Some(true) => Touch::Yes,
            Some(false) => match self.reach {
                Reach::Below if reaches_below(pattern, &self.path) => Touch::Unclear,
                Reach::Below | Reach::File => Touch::No,
            },
        }
    }

    /// Offers the folder of a file, and a folder that is searched. Nothing is offered for files at the top, as that
    /// would be all files.
    fn offer(&self, _: usize) -> Option<String> {
        let folder = match self.reach {
            Reach::File => self.path.rsplit_once('/')?.0,
            Reach::Below => &self.path,
        };
        let is_plain = !folder.is_empty() && !folder.contains(SPECIAL) && !folder.contains(['*', '?']);
        is_plain.then(|| match self.reach {
            Reach::File => format!("{folder}/**"),
            Reach::Below => format!("{{{folder},{folder}/**}}"),
        })
    }
}

/// Characters that only `globset` understands.
const SPECIAL: [char; 4] = ['[', '{', '}', '\\'];

/// Returns `true` if a path matches a pattern, or `None` if the pattern is none.
///
/// Rules are compared with every call, so the usual patterns, of `*`, `**` and `?`, are compared without being
/// compiled.
fn path_fits(pattern: &str, path: &str) -> Option<bool> {
    if !pattern.contains(SPECIAL) {
        return Some(plain_fits(pattern, path));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher().is_match(path))
}

fn plain_fits(pattern: &str, path: &str) -> bool {
    match pattern.split_once('/') {
        None if pattern == "**" => true,
        None => !path.contains('/') && name_fits(pattern, path),
        Some(("**", rest)) if rest.starts_with("**/") => plain_fits(rest, path),
        Some(("**", rest)) => {
            plain_fits(rest, path) || path.match_indices('/').any(|(at, _)| plain_fits(rest, &path[at + 1..]))
        }
        Some((first, rest)) => path
            .split_once('/')
            .is_some_and(|(name, below)| name_fits(first, name) && plain_fits(rest, below)),
    }
}

/// Compares one name of a path, in which `?` is one character.
fn name_fits(pattern: &str, name: &str) -> bool {
    if !pattern.contains('?') {
        return fits(pattern, name);
    }
    match pattern.chars().next() {
        None => name.is_empty(),
        Some('*') => {
            let rest = pattern.trim_start_matches('*');
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| name_fits(rest, &name[at..]))
        }
        Some(first) => name.chars().next().is_some_and(|next| {
            (first == '?' || first == next)
                && name_fits(&pattern[first.len_utf8()..], &name[next.len_utf8()..])
        }),
    }
}

/// Returns `true` if a pattern may match a path below a folder.
fn reaches_below(pattern: &str, folder: &str) -> bool {
    let literal = pattern.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    literal.starts_with(&folder) || folder.starts_with(literal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rule_is_about_the_path_without_its_detours() {
        let matcher = path_matcher("./src/x/../a.rs").unwrap();
        assert!(matcher.matches("src/*.rs") && matcher.matches("**") && matcher.matches("src/?.r[st]"));
        assert!(!matcher.matches("*.rs") && !matcher.matches("src/x/**") && !matcher.matches("["));
        assert!(path_matcher("../a").is_none() && path_matcher("/a").is_none());
    }

    #[test]
    fn a_pattern_that_cannot_be_read_denies_and_does_not_allow() {
        let matcher = path_matcher("src/a.rs").unwrap();
        assert_eq!((matcher.matches("src/["), matcher.touches("src/[")), (false, Touch::Yes));
        assert_eq!((matcher.touches("src/**"), matcher.touches("docs/**")), (Touch::Yes, Touch::No));
    }

    #[test]
    fn a_search_may_touch_what_is_below_its_folder() {
        let search = |folder| folder_matcher(folder).unwrap();
        assert_eq!(search("").touches("secrets/**"), Touch::Unclear);
        assert_eq!(search("secrets").touches("secrets/**"), Touch::Unclear);
        assert_eq!(search("src/a").touches("src/**"), Touch::Yes);
        assert_eq!(search("src").touches("**/*.pem"), Touch::Unclear);
        assert_eq!(search("src").touches("secrets/**"), Touch::No);
    }

    #[test]
    fn a_path_offers_its_folder() {
        let offer = |path| path_matcher(path).unwrap().offer(0);
        assert_eq!(offer("src/a/b.rs").as_deref(), Some("src/a/**"));
        assert_eq!(offer("src/a/../b.rs").as_deref(), Some("src/**"));
        assert_eq!((offer("a.rs"), offer("a*/b.rs"), offer("[a]/b")), (None, None, None));
        let search = folder_matcher("src").unwrap();
        let offered = search.offer(0).unwrap();
        assert!(search.matches(&offered) && folder_matcher("src/a").unwrap().matches(&offered));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn a_path_fits_as_globset_says(
            pattern in "([ab?*]{1,3}|\\*\\*)(/([ab?*]{1,3}|\\*\\*)){0,3}",
            path in "[ab]{1,2}(/[ab]{1,2}){0,3}",
        ) {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build().unwrap();
            prop_assert_eq!(path_fits(&pattern, &path), Some(glob.compile_matcher().is_match(&path)));
        }
    }
}
