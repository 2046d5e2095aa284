//! Parses options that are numbers.

use std::str::FromStr;

/// Parses the number of an option: a count or a duration. Anything else is an error of one line, even a value that
/// looks like another option.
pub(super) fn count<N: FromStr>(text: &str) -> Result<N, &'static str> {
    // `parse` would accept a sign.
    let is_one = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match is_one {
        true => text.parse().map_err(|_| "it is too large a number"),
        false => Err("it is a whole number, 0 or more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(count::<u64>("007"), Ok(7));
        for none in ["", "-1", "+1", "1.5", "1e3", "ten", " 1", "--json"] {
            assert_eq!(count::<u64>(none), Err("it is a whole number, 0 or more"), "{none}");
        }
        assert_eq!(count::<u64>("18446744073709551616"), Err("it is too large a number"));
    }
}
