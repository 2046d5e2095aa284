//! Functions on tokens: their canonical text, and the names that occur in them.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// Returns the text of `tokens` with canonical spacing: `Vec < String >` becomes `Vec<String>`.
///
/// The text becomes part of a schema's fingerprint, so it must depend on the tokens only, not on their layout.
pub(crate) fn text(tokens: &impl ToTokens) -> String {
    let mut printer = Printer { text: String::new(), last: Last::Open };
    printer.stream(tokens.to_token_stream());
    printer.text
}

/// Returns `true` if the identifier `name` occurs in `tokens`.
pub(crate) fn mentions(tokens: &impl ToTokens, name: &str) -> bool {
    find(tokens, name).is_some()
}

/// Returns the span of the first occurrence of the identifier `name` in `tokens`.
pub(crate) fn find(tokens: &impl ToTokens, name: &str) -> Option<Span> {
    tokens.to_token_stream().into_iter().find_map(|token| match token {
        TokenTree::Ident(found) if found == name => Some(found.span()),
        TokenTree::Group(group) => find(&group.stream(), name),
        _ => None,
    })
}

/// Returns `tokens` with the span `span`, so that errors in the generated code point there.
pub(crate) fn respan(tokens: &impl ToTokens, span: Span) -> TokenStream {
    let respanned = tokens.to_token_stream().into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    respanned.collect()
}

struct Printer {
    text: String,
    last: Last,
}

/// The kind of the last printed token, which decides the spacing before the next one.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// An opening delimiter, or punctuation that is joined to the next token.
    Open,
    /// A closing delimiter or `>`.
    Close,
    /// An identifier or a literal.
    Word,
    /// A comma or semicolon, or an operator that stands alone.
    Break,
}

impl Printer {
    fn stream(&mut self, stream: TokenStream) {
        let mut tokens = stream.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.group(group.delimiter(), group.stream()),
                TokenTree::Ident(ident) => self.word(&ident.to_string()),
                TokenTree::Literal(literal) => self.word(&literal.to_string()),
                TokenTree::Punct(punct) => {
                    let mut operator = String::from(punct.as_char());
                    let mut spacing = punct.spacing();
                    while spacing == Spacing::Joint && "-=:".contains(punct.as_char()) {
                        let Some(TokenTree::Punct(next)) = tokens.peek() else {
                            break;
                        };
                        if !">:".contains(next.as_char()) {
                            break;
                        }
                        operator.push(next.as_char());
                        spacing = next.spacing();
                        tokens.next();
                        if operator.len() == 2 {
                            break;
                        }
                    }
                    self.operator(&operator);
                }
            }
        }
    }

    fn group(&mut self, delimiter: Delimiter, stream: TokenStream) {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            // An invisible group, around a type that came from a `macro_rules!` variable.
            Delimiter::None => return self.stream(stream),
        };
        if self.last == Last::Break {
            self.text.push(' ');
        }
        self.text.push_str(open);
        self.last = Last::Open;
        self.stream(stream);
        self.text.push_str(close);
        self.last = Last::Close;
    }

    fn word(&mut self, word: &str) {
        if self.last != Last::Open {
            self.text.push(' ');
        }
        self.text.push_str(word);
        self.last = Last::Word;
    }

    fn operator(&mut self, operator: &str) {
        match operator {
            "," | ";" | ":" => {
                self.text.push_str(operator);
                self.last = Last::Break;
            }
            "->" | "=" | "+" => {
                self.text.push(' ');
                self.text.push_str(operator);
                self.last = Last::Break;
            }
            ">" => {
                self.text.push('>');
                self.last = Last::Close;
            }
            _ => {
                if self.last == Last::Break || (self.last == Last::Word && "&*'".contains(operator)) {
                    self.text.push(' ');
                }
                self.text.push_str(operator);
                self.last = Last::Open;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::text;

    #[test]
    fn layout_does_not_show() {
        assert_eq!(text(&quote!(Vec<String>)), "Vec<String>");
        assert_eq!(text(&quote!(BTreeMap<String, (u8,u16)>)), "BTreeMap<String, (u8, u16)>");
        assert_eq!(text(&quote!(::std::vec::Vec<[u8; 4]>)), "::std::vec::Vec<[u8; 4]>");
        assert_eq!(
            text(&quote!(Option<Box<dyn Fn(u8) -> u8 + Send>>)),
            "Option<Box<dyn Fn(u8) -> u8 + Send>>"
        );
        assert_eq!(text(&quote!(&'static str)), "&'static str");
        assert_eq!(text(&quote!(Top<3, &'a mut T>)), "Top<3, &'a mut T>");
        assert_eq!(text(&quote!(<T as Iterator>::Item)), "<T as Iterator>::Item");
        assert_eq!(text(&quote!(Map<K = u8>)), "Map<K = u8>");
    }
}
