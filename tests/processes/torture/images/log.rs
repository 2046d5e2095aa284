//! A program's operations on its files, from the log of `strace`.

use std::collections::HashMap;
use std::path::Path;

use crate::torture::child::Started;
use crate::torture::made;
use crate::torture::order::Order;
use crate::torture::said::Line;

/// An operation, in the order of the log.
#[derive(Debug)]
pub(super) enum Event {
    /// A file was created, if it did not exist.
    Create(String),
    Unlink(String),
    Write {
        name: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        name: String,
        length: usize,
    },
    /// Earlier writes to the file are on the disk.
    Sync(String),
    /// Earlier creations and deletions are on the disk.
    SyncFolder,
    Said(Line),
}

/// The calls that change files, and those that print.
const CALLS: &str = "trace=openat,pwrite64,fsync,fdatasync,ftruncate,unlink,write";

/// Runs the program; returns its operations on the files in its folder, by their names.
pub(super) fn record(order: &Order) -> Vec<Event> {
    let log = made::beside(&order.db, ".log");
    let path = log.to_str().expect("its path is text");
    let arguments = ["-f", "--seccomp-bpf", "-xx", "-y", "-s", "70000", "-o", path, "-e", CALLS, "--"];
    let ended = Started::new(order.command_by("strace", &arguments)).end();
    assert!(ended.status.success(), "{:?} {order}", ended.status);
    let text = std::fs::read_to_string(&log).expect("strace writes a log");
    let folder = order.db.parent().expect("the file is in a folder");
    let events: Vec<Event> = Calls::default().all(&text).filter_map(|call| event(&call, folder)).collect();
    let said = events.iter().filter(|event| matches!(event, Event::Said(_))).count();
    assert_eq!(said, ended.said.len(), "the log has everything that was said");
    events
}

/// A call with its arguments as they are logged.
struct Call {
    name: String,
    arguments: String,
}

/// Joins calls that were logged in two parts because another OS thread made a call in between.
#[derive(Default)]
struct Calls {
    begun: HashMap<String, String>,
}

impl Calls {
    fn all<'t>(mut self, text: &'t str) -> impl Iterator<Item = Call> + 't {
        text.lines().filter_map(move |line| self.line(line))
    }

    /// A call counts from its beginning, because it may have an effect from then on; a sync counts from its end.
    fn line(&mut self, line: &str) -> Option<Call> {
        let (thread, rest) = line.split_once(' ')?;
        let rest = rest.trim_start();
        if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
            if begun.starts_with("fsync(") || begun.starts_with("fdatasync(") {
                self.begun.insert(thread.to_owned(), begun.to_owned());
                return None;
            }
            return call(begun);
        }
        if let Some(done) = rest.strip_prefix("<... ") {
            let begun = self.begun.remove(thread)?;
            assert!(done.ends_with("= 0"), "a sync failed: {line}");
            return call(&begun);
        }
        let (made, result) = rest.rsplit_once(" = ")?;
        let call = call(made.trim_end().strip_suffix(')')?)?;
        assert!(call.name == "openat" || !result.starts_with('-'), "a call failed: {line}");
        Some(call)
    }
}

fn call(text: &str) -> Option<Call> {
    let (name, arguments) = text.split_once('(')?;
    Some(Call { name: name.to_owned(), arguments: arguments.to_owned() })
}

/// The operation of a call on a file of the folder, or its output.
fn event(call: &Call, folder: &Path) -> Option<Event> {
    let mut arguments = call.arguments.split(", ");
    match call.name.as_str() {
        "openat" => {
            let (path, flags) = (quoted(arguments.nth(1)?), arguments.next()?);
            flags.contains("O_CREAT").then(|| name(&path, folder).map(Event::Create))?
        }
        "unlink" => name(&quoted(arguments.next()?), folder).map(Event::Unlink),
        "write" => {
            let text = String::from_utf8(quoted(arguments.nth(1)?)).ok()?;
            Line::parse(text.trim_end()).map(Event::Said)
        }
        "fsync" | "fdatasync" => {
            let path = opened(arguments.next()?);
            match path == folder.as_os_str().as_encoded_bytes() {
                true => Some(Event::SyncFolder),
                false => name(&path, folder).map(Event::Sync),
            }
        }
        "ftruncate" => {
            let name = name(&opened(arguments.next()?), folder)?;
            Some(Event::Truncate { name, length: number(arguments.next()?) })
        }
        "pwrite64" => {
            let name = name(&opened(arguments.next()?), folder)?;
            let (bytes, length, at) = (quoted(arguments.next()?), arguments.next()?, arguments.next()?);
            assert_eq!(bytes.len(), number(length), "the log has all bytes");
            Some(Event::Write { name, at: number(at), bytes })
        }
        _ => None,
    }
}

/// The name of a file of the folder. Shared memory is recreated after a power loss.
fn name(path: &[u8], folder: &Path) -> Option<String> {
    let path = String::from_utf8(path.to_owned()).ok()?;
    let name = Path::new(&path).strip_prefix(folder).ok()?.to_str()?.to_owned();
    (!name.is_empty() && !name.ends_with("-shm")).then_some(name)
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

/// The bytes of `"\x41\x42"`.
fn quoted(text: &str) -> Vec<u8> {
    hexadecimal(text.trim_matches('"'))
}

/// The path of an open file: `3<\x2f\x74>`.
fn opened(text: &str) -> Vec<u8> {
    let path = text.split_once('<').and_then(|(_, path)| path.split_once('>'));
    path.map(|(path, _)| hexadecimal(path)).unwrap_or_default()
}

fn hexadecimal(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits.map(|digits| u8::from_str_radix(digits, 16).expect("two digits")).collect()
}
