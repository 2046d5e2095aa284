import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, kindWords, preview } from "../src/model/content";
import { parse } from "../src/wire/json";

test("texts are told by their kind", () => {
  const kinds = [
    ["<secret>", "secret"],
    ["a <secret> in a text", "text"],
    ["data:image/png;base64,iVBORw0KGgo=", "picture"],
    // Nothing is loaded from elsewhere, and nothing else than a picture is.
    ["https://example.com/a.png", "text"],
    ["data:text/html;base64,PHNjcmlwdD4=", "text"],
    ["data:image/png;base64,x\"><script>", "text"],
    ['{"a": 1}', "json"],
    ["[1, 2", "text"],
    ["[1] docs/execution.md", "text"],
    ["7", "text"],
  ] as const;
  for (const [text, is] of kinds) assert.equal(contentOf(text).is, is, text);
});

test("a picture of a message is one", () => {
  const picture = contentOf({ type: "image", media_type: "image/jpeg", data: "AAAA" });
  assert.deepEqual(picture, { is: "picture", address: "data:image/jpeg;base64,AAAA", type: "image/jpeg", bytes: 3 });
  assert.equal(contentOf({ media_type: "text/html", data: "AAAA" }).is, "other");
  assert.equal(contentOf({ media_type: "image/png", data: "a,b" }).is, "other");
});

test("kinds have their size", () => {
  assert.equal(kindWords("été 😀"), "text, 5 letters");
  assert.equal(kindWords([1]), "list, 1 item");
  assert.equal(kindWords({ a: 1, b: 2 }), "object, 2 members");
  assert.equal(kindWords(parse("12345678901234567890")), "number");
  assert.equal(kindWords(null), "null");
  assert.equal(kindWords('{"a": 1}'), "JSON in a text, 8 letters");
  assert.equal(kindWords("data:image/png;base64,iVBORw0KGgo="), "picture, image/png, 8 B");
});

test("a preview reads only what it shows", () => {
  assert.equal(preview({ id: "a", list: [1, true, null] }, 80), '{id: "a", list: [1, true, null]}');
  assert.equal(preview(parse("[1.0, 12345678901234567890]"), 80), "[1.0, 12345678901234567890]");
  const endless: string[] = Array.from({ length: 100_000 }, () => "item");
  assert.match(preview(endless, 30), /^\["item", "item", "item", "item.*…$/);
  assert.ok(preview("x".repeat(1_000_000), 40).length < 60);
  assert.ok(preview({ a: "\u202e" }, 40).includes("\\u202e"));
});
