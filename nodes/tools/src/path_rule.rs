//! Rules about paths, such as `src/**`.

use std::path::{Component, Path};

use globset::{GlobBuilder, GlobMatcher};
use superstep_nodes::tool::{Pattern, PermissionMatcher, PermissionParts, Touch};

use super::wildcard::{Eight, fits};

/// Compares rules about files with the path of a file. `None` for a path that leads out of the workspace.
pub(super) fn path_matcher(named: &str) -> Option<PermissionMatcher> {
    Some(PermissionMatcher::of(PathPart::new(without_detours(named)?, Reach::File)))
}

/// Compares rules about files with the folder of a search, which reads everything below it.
pub(super) fn folder_matcher(named: &str) -> Option<PermissionMatcher> {
    Some(PermissionMatcher::of(PathPart::new(without_detours(named)?, Reach::Below)))
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
    first: Eight,
    last: Eight,
    reach: Reach,
}

/// The files that a call is about.
enum Reach {
    File,
    Below,
}

impl PathPart {
    fn new(path: String, reach: Reach) -> Self {
        Self { first: Eight::first(&path), last: Eight::last(&path), path, reach }
    }
}

impl PermissionParts for PathPart {
    fn count(&self) -> usize {
        1
    }

    fn fits(&self, _: usize, pattern: &Pattern) -> bool {
        pattern.compare(PathPattern::parse, |pattern| pattern.fits(self).unwrap_or(false))
    }

    /// A rule that cannot be parsed is about every path: a mistake in a rule that denies must not permit anything.
    fn touches(&self, pattern: &Pattern) -> Touch {
        pattern.compare(PathPattern::parse, |pattern| match (pattern.fits(self), &self.reach) {
            (None | Some(true), _) => Touch::Yes,
            (Some(false), Reach::Below) if pattern.reaches_below(&self.path) => Touch::Unclear,
            (Some(false), Reach::Below | Reach::File) => Touch::No,
        })
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

/// A pattern of paths.
struct PathPattern {
    /// The beginnings of paths that match: a path has one of them.
    first: [Eight; 2],
    /// The end of all paths that match.
    last: Eight,
    form: Form,
    /// The beginning of all paths that match.
    begin: Box<str>,
}

/// The form of a pattern. The usual ones, of `*`, `**` and `?`, are not compiled.
enum Form {
    Plain(Box<str>),
    Glob(Box<GlobMatcher>),
    Invalid,
}

impl PathPattern {
    fn parse(pattern: &str) -> Self {
        // `**/` matches no text, too, so only the end of the name counts.
        let last = pattern.rfind(|sign| sign == '/' || is_wild(sign)).map_or(0, |last| last + 1);
        let glob = || GlobBuilder::new(pattern).literal_separator(true).build();
        let form = match pattern.contains(SPECIAL) {
            false => Form::Plain(pattern.into()),
            true => glob().map_or(Form::Invalid, |glob| Form::Glob(Box::new(glob.compile_matcher()))),
        };
        let begin = literal(pattern);
        let either = alternatives(pattern).unwrap_or([begin.into(), begin.into()]);
        let first = either.map(|begin| Eight::first(&begin));
        Self { first, last: Eight::last(&pattern[last..]), form, begin: begin.into() }
    }

    /// Returns `true` if a path matches; `None` if the pattern is invalid.
    fn fits(&self, part: &PathPart) -> Option<bool> {
        let may_fit = self.first.iter().any(|first| first.agrees(part.first)) && self.last.agrees(part.last);
        match &self.form {
            Form::Invalid => None,
            _ if !may_fit => Some(false),
            Form::Plain(pattern) => Some(plain_fits(pattern, &part.path)),
            Form::Glob(glob) => Some(glob.is_match(&part.path)),
        }
    }

    /// Returns `true` if a path below a folder may match.
    fn reaches_below(&self, folder: &str) -> bool {
        let (begin, folder) = (self.begin.as_bytes(), folder.as_bytes());
        let same = begin.len().min(folder.len());
        let is_below = || folder.is_empty() || begin.len() <= folder.len() || begin[folder.len()] == b'/';
        begin[..same] == folder[..same] && is_below()
    }
}

fn is_wild(sign: char) -> bool {
    "*?[]{}\\".contains(sign)
}

/// Returns the text before the first sign that is not itself.
fn literal(pattern: &str) -> &str {
    &pattern[..pattern.find(is_wild).unwrap_or(pattern.len())]
}

/// Returns the beginnings of a pattern that has a choice of two first, such as `{src,src/**}`.
fn alternatives(pattern: &str) -> Option<[String; 2]> {
    let (before, choice) = pattern.split_once('{').filter(|(before, _)| !before.contains(is_wild))?;
    let (choice, behind) = choice.split_once('}').filter(|(choice, _)| !choice.contains(['{', '[', '\\']))?;
    let (one, other) = choice.split_once(',').filter(|(_, other)| !other.contains(','))?;
    let begin = |choice: &str| match literal(choice) == choice {
        true => format!("{before}{choice}{}", literal(behind)),
        false => format!("{before}{}", literal(choice)),
    };
    Some([begin(one), begin(other)])
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
        assert_eq!((matcher.matches("src/["), matcher.touches(&"src/[".into())), (false, Touch::Yes));
        assert_eq!(
            (matcher.touches(&"src/**".into()), matcher.touches(&"docs/**".into())),
            (Touch::Yes, Touch::No)
        );
    }

    #[test]
    fn a_search_may_touch_what_is_below_its_folder() {
        let search = |folder| folder_matcher(folder).unwrap();
        assert_eq!(search("").touches(&"secrets/**".into()), Touch::Unclear);
        assert_eq!(search("secrets").touches(&"secrets/**".into()), Touch::Unclear);
        assert_eq!(search("src/a").touches(&"src/**".into()), Touch::Yes);
        assert_eq!(search("src").touches(&"**/*.pem".into()), Touch::Unclear);
        assert_eq!(search("src").touches(&"secrets/**".into()), Touch::No);
    }

    #[test]
    fn a_path_offers_its_folder() {
        let offer = |path| path_matcher(path).unwrap().offer(0);
        assert_eq!(offer("src/a/b.rs").as_deref(), Some("src/a/**"));
        assert_eq!(offer("src/a/../b.rs").as_deref(), Some("src/**"));
        assert_eq!((offer("a.rs"), offer("a*/b.rs"), offer("[a]/b")), (None, None, None));
        let search = folder_matcher("src").unwrap();
        let offered = search.offer(0).unwrap();
        assert!(
            search.matches(offered.as_str()) && folder_matcher("src/a").unwrap().matches(offered.as_str())
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn a_path_fits_as_globset_says(
            pattern in "([ab?*]{1,3}|\\*\\*)(/([ab?*]{1,3}|\\*\\*)){0,3}",
            path in "[ab]{1,2}(/[ab]{1,2}){0,3}",
        ) {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build().unwrap();
            let fits = Some(glob.compile_matcher().is_match(&path));
            prop_assert_eq!(PathPattern::parse(&pattern).fits(&PathPart::new(path, Reach::File)), fits);
        }

        /// Patterns with brackets and escapes may be invalid, which no comparison may hide.
        #[test]
        fn a_path_fits_a_special_pattern_as_globset_says(
            pattern in "([ab/*?,]|\\[a\\]|\\[!a\\]|\\{|\\}|\\[|\\]|\\\\){1,7}|[ab]{0,2}\\{[ab*/]{0,3},[ab*/]{0,3}\\}[ab*/]{0,2}",
            path in "[ab]{1,2}(/[ab]{1,2}){0,2}",
        ) {
            prop_assume!(pattern.contains(SPECIAL));
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
            let fits = glob.ok().map(|glob| glob.compile_matcher().is_match(&path));
            prop_assert_eq!(PathPattern::parse(&pattern).fits(&PathPart::new(path, Reach::File)), fits);
        }
    }
}
