//! Values that are larger than they look.

pub(crate) fn deep(open: &str, close: &str, levels: usize) -> String {
    format!("{}1{}", open.repeat(levels), close.repeat(levels))
}

pub(crate) fn wide(item: &str, items: usize) -> String {
    let mut list = String::with_capacity(items * (item.len() + 1) + 2);
    list.push('[');
    for position in 0..items {
        list.push_str(if position == 0 { "" } else { "," });
        list.push_str(item);
    }
    list.push(']');
    list
}

/// An object with so many members, whose names begin with `key`.
pub(crate) fn members(key: &str, members: usize) -> String {
    let mut object = String::from("{");
    for number in 0..members {
        let comma = if number == 0 { "" } else { "," };
        object.push_str(&format!("{comma}\"{key}{number:x}\":1"));
    }
    object.push('}');
    object
}

pub(crate) fn long(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes))
}

/// A list of so many bytes of prose.
pub(crate) fn prose(bytes: usize) -> String {
    let mut list = String::from("[");
    while list.len() < bytes {
        list.push_str(if list.len() == 1 { "" } else { "," });
        list.push_str(&long(1 << 16));
    }
    list.push(']');
    list
}
