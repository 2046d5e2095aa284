use proptest::prelude::*;

use super::*;

fn texts(chunker: Chunker, text: &str) -> Vec<String> {
    chunker.split(text).into_iter().map(|chunk| chunk.text).collect()
}

#[test]
fn a_short_text_is_one_chunk_and_an_empty_one_is_none() {
    assert_eq!(texts(Chunker::default(), "  One.\n"), ["One."]);
    assert!(texts(Chunker::default(), " \n ").is_empty());
}

#[test]
fn a_chunk_ends_at_the_greatest_pause_of_its_second_half() {
    let text = "aaaa aaaa. aaaa aaaa\n\nbbbb bbbb. bbbb";
    assert_eq!(texts(Chunker::new(26, 0), text), ["aaaa aaaa. aaaa aaaa", "bbbb bbbb. bbbb"]);
    assert_eq!(texts(Chunker::new(14, 0), text), ["aaaa aaaa.", "aaaa aaaa", "bbbb bbbb.", "bbbb"]);
}

#[test]
fn a_word_that_is_too_long_is_cut() {
    assert_eq!(texts(Chunker::new(4, 0), "abcdefghij"), ["abcd", "efgh", "ij"]);
}

#[test]
fn sentences_are_repeated_rather_than_ends_of_sentences() {
    let text = "First one. Second is here. Third.";
    assert_eq!(texts(Chunker::new(28, 14), text), ["First one. Second is here.", "is here. Third."]);
    assert_eq!(texts(Chunker::new(32, 16), text), ["First one. Second is here.", "Second is here. Third."]);
}

#[test]
fn chunks_know_their_lines_and_headings() {
    let text = "# Forks\n\nA fork copies nothing.\n\n## Cost\n\nA fork is\ncheap.\n";
    let chunks = Chunker::new(34, 0).split_markdown(text);
    let places: Vec<_> =
        chunks.iter().map(|chunk| (chunk.heading.as_str(), chunk.line_start, chunk.line_end)).collect();
    assert_eq!(places, [("Forks", 1, 3), ("Forks > Cost", 5, 8)]);
    assert_eq!(chunks[1].text, "## Cost\n\nA fork is\ncheap.");
}

#[test]
fn the_heading_is_that_of_what_is_new() {
    let text = "# A\n\nOne two three four.\n\n# B\n\nFive six seven eight.\n";
    let chunks = Chunker::new(30, 15).split_markdown(text);
    let found: Vec<_> = chunks.iter().map(|chunk| (chunk.heading.as_str(), chunk.text.as_str())).collect();
    let last = found.last().unwrap();
    assert_eq!(last.0, "B", "{found:?}");
    assert!(last.1.contains("eight."), "{found:?}");
}

proptest! {
    #[test]
    fn no_chunk_is_too_long_nothing_is_left_out_and_lines_are_right(
        text in "([a-zä漢]{1,12}[.]?[ \n]{0,3}){0,60}",
        size in 1_usize..80,
        overlap in 0_usize..100,
    ) {
        let chunker = Chunker::new(size, overlap);
        let ranges = chunker.ranges(&text);
        let mut end = 0;
        for range in &ranges {
            prop_assert!(text[range.clone()].chars().count() <= size);
            prop_assert!(range.end > end, "each chunk has something new");
            if range.start > end {
                prop_assert!(text[end..range.start].trim().is_empty());
            } else {
                prop_assert!(text[range.start..end].chars().count() <= chunker.overlap());
            }
            end = range.end;
        }
        prop_assert!(text[end..].trim().is_empty());

        let lines: Vec<_> = text.lines().collect();
        for chunk in chunker.split(&text) {
            let (first, last) = (chunk.line_start as usize - 1, chunk.line_end as usize - 1);
            prop_assert!(lines[first].contains(chunk.text.lines().next().unwrap().trim()));
            prop_assert_eq!(last - first, chunk.text.matches('\n').count());
        }
    }
}
