//! The layout of a text, as `moondock fmt` does it, in as small edits as can be.

use gen_lsp_types::{DocumentFormattingParams, TextEdit};

use crate::kdl::layout::laid_out;

use super::requests::View;
use super::text::Text;

/// The edits that lay out a text: none of one that is no KDL yet, since whoever saves it goes on typing.
pub(super) fn format(view: &View<'_>, params: DocumentFormattingParams) -> Option<Vec<TextEdit>> {
    let document = view.documents.get(&params.text_document.uri).filter(|document| document.is_kdl())?;
    let neat = laid_out(&document.text.all).ok()?;
    Some(edits(&document.text, &neat))
}

/// An edit for each line that differs. A layout never adds or removes a line.
fn edits(text: &Text, neat: &str) -> Vec<TextEdit> {
    let mut edits = Vec::new();
    let mut start = 0;
    for (old, new) in text.all.split('\n').zip(neat.split('\n')) {
        if old != new {
            edits.push(edit(text, start, old, new));
        }
        start += old.len() + 1;
    }
    edits
}

/// The edit of what differs between two lines.
fn edit(text: &Text, start: usize, old: &str, new: &str) -> TextEdit {
    let same = |(a, b): &(char, char)| a == b;
    let length =
        |pairs: &mut dyn Iterator<Item = (char, char)>| pairs.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let head: usize = length(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[head..], &new[head..]);
    let tail: usize = length(&mut old.chars().rev().zip(new.chars().rev()));
    let start = start + head;
    TextEdit::new(text.range(start..start + old.len() - tail), new[..new.len() - tail].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::text::Encoding;

    #[test]
    fn only_what_differs_is_edited() {
        let text = Text::new("a {\r\n  b \"ä\"  \r\n\tc\r\n}\n", Encoding::Utf16);
        let neat = laid_out(&text.all).unwrap();
        let edits: Vec<_> = edits(&text, &neat)
            .into_iter()
            .map(|edit| (edit.range.start.line, edit.range.start.character, edit.range.end.character, edit.new_text))
            .collect();
        assert_eq!(edits, [(1, 2, 9, "  b \"ä\"".to_owned()), (2, 0, 1, "    ".to_owned())]);
    }
}
