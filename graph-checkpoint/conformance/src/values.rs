//! Values that are hard to store: none of them may change.

use superstep_core::checkpoint::{Checkpoint, CheckpointerExt, digest};
use superstep_core::state::{Change, Json, Op};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{ask, change, effect, ended, extend, json, ok, result, set, thread};
use super::verdict::{Stop, Verdict, equal, failed, holds};

items! { "values":
    floats_keep_every_bit "Floats come back bit by bit: minus zero, subnormals, extremes, and thousands of others."
    integers_keep_every_digit "Integers come back digit by digit, beyond 64 bits, too."
    numbers_keep_their_spelling "A number comes back as it was written: `1.0` is not `1`, and `1e3` not `1000`."
    texts_keep_every_letter "Texts come back letter by letter: the zero letter, noncharacters, all planes, both normal forms."
    escapes_stay_escapes "Escapes in JSON text stay as they are, also those that stand for no letter."
    keys_keep_every_letter "Keys of maps come back letter by letter, and in their order after a fold."
    work_keeps_every_letter "What results, questions, answers and effects hold comes back letter by letter."
    empty_values_are_values "Empty texts, lists, maps and operations without items come back as they are."
    large_values_come_back "Values of megabytes come back, alone, extended, in results, questions and effects."
    the_same_large_value_again "A large value that is written twice is there twice, and is still there without the first."
    deep_values_come_back "Values come back that are nested a hundred deep."
    digests_stay_the_same "What is read back has the digest of what was stored."
}

/// Sets fields to these texts, and expects them to be unchanged.
async fn kept(b: &Bench<'_>, texts: &[&str]) -> Verdict {
    for texts in texts.chunks(4) {
        let name = super::material::next_id().to_string();
        let changes: Vec<Change> = (0..).zip(texts).map(|(field, text)| set(field, text)).collect();
        b.advance(&name, None, changes).await?;
        let expected: Vec<(u16, &str)> = (0..).zip(texts.iter().copied()).collect();
        equal("the values", values(&b.head(&name).await?), expected)?;
    }
    Ok(())
}

/// Returns special floats, and pseudorandom ones that are the same each time.
fn floats() -> Vec<f64> {
    let mut floats = vec![
        0.0,
        -0.0,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from_bits(0x000f_ffff_ffff_ffff),
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        0.1,
        1.0 / 3.0,
        5e-324,
        2.225_073_858_507_201e-308,
        9_007_199_254_740_993.0,
        1e22,
        1e23,
    ];
    let mut bits: u64 = 0x9e37_79b9_7f4a_7c15;
    while floats.len() < 4_000 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        floats.extend(Some(f64::from_bits(bits)).filter(|float| float.is_finite()));
    }
    floats
}

fn encoded<T: serde::Serialize + ?Sized>(value: &T) -> Result<Json, Stop> {
    Json::encode(value).map_err(|error| failed("the item's own value", "JSON", error))
}

async fn floats_keep_every_bit(b: &Bench<'_>) -> Verdict {
    let floats = floats();
    let (whole, half) = (encoded(&floats)?, encoded(&floats[..2_000])?);
    let rest = encoded(&floats[2_000..])?;
    let first = b.advance("t", None, [change(0, [Op::Set(whole)]), change(1, [Op::Set(half)])]).await?;
    b.advance("t", Some(&first), [change(1, [Op::Extend(rest)])]).await?;
    for value in b.head("t").await?.values {
        let read: Vec<f64> = value.value.decode().map_err(|error| failed("the list", "floats", error))?;
        equal("how many floats come back", read.len(), floats.len())?;
        for (read, float) in read.iter().zip(&floats) {
            let what = format_args!("the bits of {float:?}");
            equal(what, format!("{:x}", read.to_bits()), format!("{:x}", float.to_bits()))?;
        }
    }
    Ok(())
}

async fn integers_keep_every_digit(b: &Bench<'_>) -> Verdict {
    let numbers = [
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "170141183460469231731687303715884105727",
        "-170141183460469231731687303715884105728",
        "340282366920938463463374607431768211456",
        "[9223372036854775808,18446744073709551615]",
    ];
    kept(b, &numbers).await
}

async fn numbers_keep_their_spelling(b: &Bench<'_>) -> Verdict {
    kept(b, &["1.0", "1e3", "1E+3", "-0", "-0.0", "0.10", "1e-400", "123456789012345678901234567890.5"]).await
}

/// Texts of which no letter may change.
const TEXTS: [&str; 9] = [
    "a\u{0}b\u{0}",
    "\u{1}\u{1f}\u{7f}\u{80}\u{9f}",
    "\u{fffe}\u{ffff}\u{fdd0}\u{1ffff}\u{10ffff}",
    "\u{feff}bom",
    "\u{2028}\u{2029}\u{85}\r\n\t",
    "\u{e9} e\u{301} \u{1e9b}\u{323}",
    "\u{1f469}\u{200d}\u{1f52c} \u{202e}rtl",
    "'; DROP TABLE checkpoint; -- \\ \" ` $1 ?1 :a %s {}",
    "\u{d7ff}\u{e000}\u{fffd}",
];

async fn texts_keep_every_letter(b: &Bench<'_>) -> Verdict {
    for text in TEXTS {
        let json = encoded(text)?;
        kept(b, &[json.as_str()]).await?;
        // The letter is also written unescaped if JSON allows it.
        if text.chars().all(|letter| letter >= ' ' && letter != '"' && letter != '\\') {
            kept(b, &[&format!("\"{text}\"")]).await?;
        }
    }
    Ok(())
}

async fn escapes_stay_escapes(b: &Bench<'_>) -> Verdict {
    let texts = [
        r#""\u0000""#,
        r#""\u00e9 \/ \b\f\n\r\t \" \\""#,
        r#""\ud83d\ude00""#,
        r#"["\ud800","\udfff \ud800"]"#,
        r#"{"\ud800":1,"\u0000":2}"#,
        r#""\uffff\ufffe""#,
    ];
    kept(b, &texts).await
}

async fn keys_keep_every_letter(b: &Bench<'_>) -> Verdict {
    let mut entries = std::collections::BTreeMap::new();
    let first = b.advance("t", None, []).await?;
    let mut last = first;
    for (number, text) in TEXTS.iter().enumerate() {
        entries.insert((*text).to_owned(), number);
        let one = std::collections::BTreeMap::from([(text, number)]);
        last = b.advance("t", Some(&last), [change(1, [Op::MapPut(encoded(&one)?)])]).await?;
    }
    let expected = encoded(&entries)?;
    equal("the map", values(&b.head("t").await?), [(1, expected.as_str())])
}

async fn work_keeps_every_letter(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    let mut asks = Vec::new();
    let mut effects = Vec::new();
    for (number, text) in (0..).zip(TEXTS) {
        let json = encoded(text)?;
        let mut recorded = result(number, json.as_str());
        recorded.node = text.into();
        b.saver.record_result(&name, first.id, recorded).await?;
        let mut asked = ask(number);
        (asked.key, asked.question) = (text.to_owned(), json.clone());
        asks.push(asked);
        let mut begun = effect(number.into());
        (begun.id.name, begun.id.key) = (text.to_owned(), format!("key {text}"));
        b.saver.begin_effect(&name, first.id, begun.clone()).await?;
        b.saver.end_effect(&name, first.id, &begun.id, ok(json.as_str())).await?;
        effects.push(ended(begun, json.as_str()));
    }
    b.saver.ask(&name, first.id, asks.clone()).await?;
    let answers = asks.iter().map(|ask| (ask.id, ask.question.clone())).collect();
    b.saver.answer_all(&name, answers).await?;
    for ask in &mut asks {
        ask.answer = Some(ask.question.clone());
    }
    let loaded = b.head("t").await?;
    let nodes: Vec<_> = loaded.results.iter().map(|result| result.node.as_str()).collect();
    equal("the nodes of the results", nodes, TEXTS)?;
    equal("the questions with their answers", loaded.asks, asks)?;
    equal("the effects with their outcomes", loaded.effects, effects)
}

async fn empty_values_are_values(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "\"\""), set(1, "[]"), set(2, "{}"), set(3, "null")]).await?;
    let expected = [(0, "\"\""), (1, "[]"), (2, "{}"), (3, "null")];
    equal("the values", values(&b.head("t").await?), expected)?;
    let nothing = [extend(1, "[]"), change(2, [Op::MapPut(json("{}"))])];
    let second = b.advance("t", Some(&first), nothing).await?;
    equal("the checkpoint", b.head("t").await?.checkpoint, second)?;
    equal("the values after nothing was added", values(&b.head("t").await?), expected)
}

/// Returns a list with one text of this size in mebibytes.
fn mebibytes(count: usize) -> String {
    format!("[\"{}\"]", "0123456789abcdef".repeat(count << 16))
}

async fn large_values_come_back(b: &Bench<'_>) -> Verdict {
    let large = mebibytes(2);
    let first = b.advance("t", None, [set(0, &large)]).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[1]")]).await?;
    let twice = format!("{},1]", &large[..large.len() - 1]);
    equal("the value", values(&b.head("t").await?), [(0, &*twice)])?;
    let name = thread("t");
    let asked = superstep_core::checkpoint::AskRecord { question: json(&large), ..ask(1) };
    b.saver.record_result(&name, second.id, result(1, &large)).await?;
    b.saver.ask(&name, second.id, vec![asked.clone()]).await?;
    b.saver.note_effect(&name, second.id, ended(effect(1), &large)).await?;
    let loaded = b.head("t").await?;
    equal("the result", loaded.results, [result(1, &large)])?;
    equal("the question", loaded.asks, [asked])?;
    equal("the effect", loaded.effects, [ended(effect(1), &large)])
}

async fn the_same_large_value_again(b: &Bench<'_>) -> Verdict {
    let large = mebibytes(1);
    let first = b.advance("t", None, [set(0, &large), set(1, &large)]).await?;
    b.advance("t", Some(&first), [set(0, "0"), set(2, &large)]).await?;
    b.advance("u", None, [set(0, &large)]).await?;
    let expected = [(0, "0"), (1, &*large), (2, &*large)];
    equal("the values", values(&b.head("t").await?), expected)?;
    b.delete("t").await?;
    equal("the value on another thread", values(&b.head("u").await?), [(0, &*large)])
}

async fn deep_values_come_back(b: &Bench<'_>) -> Verdict {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let keys = format!("{}1{}", "{\"\u{e4}\":".repeat(100), "}".repeat(100));
    kept(b, &[&deep, &keys]).await
}

async fn digests_stay_the_same(b: &Bench<'_>) -> Verdict {
    let floats = encoded(&floats()[..100])?;
    let texts = encoded(&TEXTS)?;
    let changes = [change(0, [Op::Set(floats)]), change(1, [Op::Set(texts)]), set(2, "18446744073709551616")];
    let first = b.advance("t", None, changes).await?;
    let of = |checkpoint: &Checkpoint| {
        digest(checkpoint).map_err(|error| failed("a digest", "there is one", error))
    };
    let found = b.head("t").await?.checkpoint;
    holds("the digest of what is read is that of what was stored", of(&found)? == of(&first)?)
}
