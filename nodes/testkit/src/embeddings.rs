//! Embeddings: of texts that are equal they are equal, and nothing else is to be seen in them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::HttpError;
use super::endpoint::Vendor;
use super::request_value::RequestValue;

const MOST_INPUTS: usize = 2048;

/// The number of dimensions of an embedding if the request sets none.
const DIMENSIONS: u64 = 8;

/// Checks the body of a request to `/v1/embeddings`.
///
/// # Errors
///
/// Fails with the answer of OpenAI if it would not take the request.
pub fn check(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::OpenAi)?;
    request.only(&["dimensions", "encoding_format", "input", "model", "user"])?;
    request.need("model")?.text_up_to(256)?;
    request.get_nullable("dimensions").map(|number| number.whole(1)).transpose()?;
    request.get_nullable("encoding_format").map(|form| form.one_of(&["float", "base64"])).transpose()?;
    let input = request.need("input")?;
    if input.value().is_string() {
        return input.text_up_to(usize::MAX).map(|_| ());
    }
    input.items_up_to(MOST_INPUTS)?;
    let is_tokens = |value: &Value| value.is_u64();
    for item in input.items_of_some()? {
        match item.value() {
            Value::Array(tokens) if !tokens.is_empty() && tokens.iter().all(is_tokens) => {}
            token if is_tokens(token) => {}
            _ => {
                item.text_up_to(usize::MAX)?;
            }
        }
    }
    Ok(())
}

/// The answer to a request that is right.
pub(super) fn answer(request: &Value) -> Value {
    let input = &request["input"];
    let inputs: Vec<&Value> = match input {
        Value::Array(items) if !items.iter().all(Value::is_u64) => items.iter().collect(),
        one => vec![one],
    };
    let dimensions = request.get("dimensions").and_then(Value::as_u64).unwrap_or(DIMENSIONS);
    let is_packed = request.get("encoding_format").is_some_and(|form| form == "base64");
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let numbers = embedding(input, dimensions);
            let numbers = if is_packed { json!(packed(&numbers)) } else { json!(numbers) };
            json!({"object": "embedding", "index": index, "embedding": numbers})
        })
        .collect();
    let tokens: usize = inputs.iter().map(|input| tokens(input)).sum();
    json!({
        "object": "list",
        "data": data,
        "model": request["model"],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

/// Numbers of length 1 that depend on every byte of the input.
fn embedding(input: &Value, dimensions: u64) -> Vec<f32> {
    let text = input.to_string();
    let numbers = (0..dimensions).map(|dimension| {
        // FNV-1a, from its start for each dimension.
        let seed = 0xcbf2_9ce4_8422_2325_u64 ^ dimension;
        let hash =
            text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        let high = u16::try_from(hash >> 48).expect("16 bits are left");
        f32::from(high) / f32::from(u16::MAX) - 0.5
    });
    let numbers: Vec<f32> = numbers.collect();
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    numbers.into_iter().map(|number| number / length).collect()
}

fn packed(numbers: &[f32]) -> String {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

/// About how many tokens a value has: a quarter of its letters as JSON.
pub(super) fn tokens(value: &Value) -> usize {
    value.to_string().chars().count().div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lists_and_tokens_are_taken_and_empty_ones_are_not() {
        for input in [json!("a"), json!(["a", "b"]), json!([1, 2]), json!([[1], [2, 3]])] {
            assert_eq!(check(&json!({"model": "m", "input": input})), Ok(()), "{input}");
        }
        for (input, said) in [
            (
                json!(""),
                "Invalid 'input': empty string. Expected a string with minimum length 1, but got an empty \
                         string instead.",
            ),
            (
                json!([]),
                "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty \
                         array instead.",
            ),
            (json!(["a", null]), "Invalid type for 'input[1]': expected a string, but got null instead."),
        ] {
            assert_eq!(check(&json!({"model": "m", "input": input})).unwrap_err().message(), said);
        }
    }

    #[test]
    fn equal_texts_have_equal_embeddings_of_length_one() {
        let answer = answer(&json!({"model": "m", "input": ["a", "b", "a"], "dimensions": 3}));
        let of = |index: usize| -> Vec<f64> {
            answer["data"][index]["embedding"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap())
                .collect()
        };
        assert_eq!((of(0), of(0).len()), (of(2), 3));
        assert_ne!(of(0), of(1));
        assert!((of(0).iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn packed_embeddings_are_the_same_numbers() {
        let request = json!({"model": "m", "input": "a"});
        let plain = answer(&request)["data"][0]["embedding"].clone();
        let mut packed = request;
        packed["encoding_format"] = json!("base64");
        let packed = answer(&packed)["data"][0]["embedding"].as_str().unwrap().to_owned();
        let bytes = STANDARD.decode(packed).unwrap();
        let numbers: Vec<f32> =
            bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        assert_eq!(json!(numbers), plain);
    }
}
