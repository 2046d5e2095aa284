// The predicates of a bisection, as the documentation of the command line lists them.

export const PREDICATES: readonly { readonly forms: readonly string[]; readonly holds: string }[] = [
  { forms: ["exists", "missing"], holds: "exists, does not exist" },
  { forms: ["= JSON", "!= JSON"], holds: "equals that JSON, does not equal it" },
  { forms: ["< N", "<= N", "> N", ">= N"], holds: "is such a number, or a list or a map with such a number of items" },
  { forms: ['< "TEXT"', "and so on"], holds: "is a text that sorts before that one, which also works for RFC 3339 times" },
  { forms: ["~ REGEX", "!~ REGEX"], holds: "matches as a text, or in its JSON form; does not match" },
];
