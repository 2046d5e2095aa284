//! Numbers and texts are read back exactly, through a saver, its file, an export and an import.
//!
//! The gate tests 200,000 random floats; `SUPERSTEP_TORTURE=10` tests ten times as many. A failure prints the seed,
//! which `SUPERSTEP_TORTURE_SEED` sets.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

use std::fmt::Debug;

use serde::Serialize;
use superstep_checkpoint::portable::{Export, export, import};
use superstep_checkpoint::{Durability, SqliteReader, SqliteSaver};
use superstep_conformance::material::{change, commit_of, graph, json, step, thread};
use superstep_core::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, Committed, MemorySaver, digest,
};
use superstep_core::state::{Json, Op};

/// The number of floats in one value.
const AT_ONCE: usize = 20_000;

fn number<T: std::str::FromStr<Err: Debug>>(variable: &str, otherwise: T) -> T {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Any bits, a decimal of a few digits, a subnormal, or one beside a power of two.
    fn float(&mut self) -> f64 {
        let bits = self.roll();
        let sign = bits & (1 << 63);
        let float = match self.roll() % 4 {
            0 => f64::from_bits(bits),
            1 => format!("{}e{}", bits % 10_000_000, (bits >> 40) % 40).parse::<f64>().unwrap() / 1e20,
            2 => f64::from_bits(sign | (bits >> 12)),
            _ => f64::from_bits(
                sign | (((bits % 2047) << 52).wrapping_add(bits >> 60).wrapping_sub(8) & !(1 << 63)),
            ),
        };
        if float.is_finite() { float } else { f64::MAX }
    }
}

fn floats(seed: u64, count: usize) -> Vec<f64> {
    let mut dice = Dice(seed);
    let special =
        [0.0, -0.0, f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX, f64::MIN, f64::EPSILON, 5e-324, 0.1];
    special.into_iter().chain(std::iter::from_fn(|| Some(dice.float()))).take(count).collect()
}

/// Reads a float like JSON readers that trade the last bit for speed: the digits as one number, times a power of ten.
fn read_fast(text: &str) -> f64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    let power = exponent.parse::<i32>().unwrap() - i32::try_from(fraction.len()).unwrap();
    digits.parse::<u128>().map_or(f64::NAN, |digits| digits as f64) * 10_f64.powi(power)
}

async fn put(saver: &dyn Checkpointer, checkpoint: &Checkpoint) {
    let committed = saver.commit(commit_of("t", checkpoint)).await.unwrap();
    assert!(matches!(committed, Committed::New), "{committed:?}");
}

/// A thread that holds `values` in field 0, one checkpoint each: in memory, in a file, and imported into another file.
struct Kept {
    _folder: tempfile::TempDir,
    savers: Vec<(&'static str, Box<dyn Checkpointer>)>,
    written: Vec<Checkpoint>,
}

async fn kept(values: &[Json]) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let open = |name| SqliteSaver::options().durability(Durability::Process).open(folder.path().join(name));
    let (memory, file) = (MemorySaver::new(), open("file.db").await.unwrap());
    let mut written: Vec<Checkpoint> = Vec::new();
    for saver in [&memory as &dyn Checkpointer, &file] {
        saver.register(&graph()).await.unwrap();
    }
    for value in values {
        let next = step(written.last(), [change(0, [Op::Set(value.clone())])]);
        put(&memory, &next).await;
        put(&file, &next).await;
        written.push(next);
    }
    let exported =
        |name| export(&SqliteReader::open(folder.path().join(name)).unwrap(), &"t".into()).unwrap().unwrap();
    let text = exported("file.db").to_text();
    let imported = open("imported.db").await.unwrap();
    import(&imported, Export::parse(&text).unwrap(), &thread("t")).await.unwrap();
    assert!(exported("imported.db").to_text() == text, "an export of what was imported is another text");
    let savers: Vec<(&str, Box<dyn Checkpointer>)> =
        vec![("memory", Box::new(memory)), ("a file", Box::new(file)), ("an import", Box::new(imported))];
    Kept { _folder: folder, savers, written }
}

impl Kept {
    /// Checks every value in every saver: the text, the digest of its checkpoint, and what `check` says of its number.
    async fn check(&self, mut check: impl FnMut(usize, &Json)) {
        for (name, saver) in &self.savers {
            for (number, written) in self.written.iter().enumerate() {
                let loaded = saver.read(&thread("t"), At::Id(written.id)).await.unwrap().unwrap();
                let same = digest(&loaded.checkpoint).unwrap() == digest(written).unwrap();
                assert!(same, "value {number} in {name} has another digest");
                let Op::Set(text) = &written.changes[0].ops[0] else { unreachable!("it was set") };
                assert!(loaded.values[0].value == *text, "value {number} in {name} is another text");
                check(number, &loaded.values[0].value);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn floats_keep_every_bit_on_every_way() {
    let count = (200_000.0 * number("SUPERSTEP_TORTURE", 1.0_f64)) as usize;
    let seed = number("SUPERSTEP_TORTURE_SEED", 1);
    let floats = floats(seed, count);
    let values: Vec<Json> = floats.chunks(AT_ONCE).map(|chunk| Json::encode(chunk).unwrap()).collect();
    let kept = kept(&values).await;
    let mut compared = 0;
    let compare = |number: usize, value: &Json| {
        let read: Vec<f64> = value.decode().unwrap();
        let expected = &floats[number * AT_ONCE..floats.len().min((number + 1) * AT_ONCE)];
        assert_eq!(read.len(), expected.len(), "seed {seed}");
        for (read, float) in read.iter().zip(expected) {
            assert_eq!(read.to_bits(), float.to_bits(), "{float:e} with SUPERSTEP_TORTURE_SEED={seed}");
        }
        compared += read.len();
    };
    kept.check(compare).await;
    assert_eq!(compared, 3 * count);

    // The check notices a reader that trades the last bit for speed.
    let texts = values[0].as_str().trim_matches(['[', ']']).split(',');
    let changed = texts.zip(&floats).filter(|(text, float)| {
        let read = read_fast(text.trim_start_matches('-'));
        read.to_bits() != float.abs().to_bits()
    });
    let changed = changed.count();
    println!("{compared} floats compared; a fast reader changes {changed} of {AT_ONCE}");
    assert!(changed * 20 > AT_ONCE, "a fast reader changes {changed} floats only");
}

#[derive(Serialize)]
struct Deep {
    #[serde(rename = "\u{0}\u{e4}\u{1f600}")]
    below: Option<Box<Deep>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_and_integers_keep_every_letter_on_every_way() {
    let deep = (0..100).fold(Deep { below: None }, |below, _| Deep { below: Some(Box::new(below)) });
    let mut values = vec![
        Json::encode(&deep).unwrap(),
        Json::encode("\u{0} \u{fffe}\u{ffff}\u{fdd0}\u{10ffff} \u{feff} \u{2028} e\u{301} \u{e9}").unwrap(),
        Json::encode(&[u64::MAX, 1 << 63, i64::MAX as u64]).unwrap(),
        Json::encode(&[i64::MIN]).unwrap(),
        Json::encode(&[i128::MIN, i128::MAX]).unwrap(),
    ];
    let texts = [
        r#""\u0000""#,
        r#"["\ud800","\udc00\ud800","\ud83d\ude00"]"#,
        r#"{"\ud800":{"\u0000":null}}"#,
        "\"\u{7f}\u{80}\u{fffd}\"",
        "[-0,-0.0,0.0,1.0,1e0,1E+2,1e-400,123456789012345678901234567890.123]",
        "{\"a\":1,\"a\":2}",
    ];
    values.extend(texts.map(json));
    let kept = kept(&values).await;
    kept.check(|number, value| assert_eq!(value, &values[number])).await;
    let (_, memory) = &kept.savers[0];
    let loaded = memory.read(&thread("t"), At::Id(kept.written[2].id)).await.unwrap().unwrap();
    assert_eq!(loaded.values[0].value.decode::<Vec<u64>>().unwrap(), [u64::MAX, 1 << 63, i64::MAX as u64]);
    let loaded = memory.read(&thread("t"), At::Id(kept.written[4].id)).await.unwrap().unwrap();
    assert_eq!(loaded.values[0].value.decode::<Vec<i128>>().unwrap(), [i128::MIN, i128::MAX]);
}

#[test]
fn what_json_cannot_hold_is_refused_when_it_is_written() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for refused in
            [Json::encode(&float), Json::encode(&[Some(float)]), Json::encode(&("text", [1.0, float]))]
        {
            let refused = refused.unwrap_err().to_string();
            assert_eq!(refused, format!("JSON has no form of the number {float}"));
        }
    }
    assert!(Json::parse("NaN").is_err() && Json::parse("[1,Infinity]").is_err());
}
