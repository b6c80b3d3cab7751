//! Texts that are a model's or a file's, in the markup that clients render.

use std::fmt::Write as _;

use agent_client_protocol::v1::schema::ToolCallContent;

use crate::spelling::Visible;

/// Shows `text` as it is, line by line: nothing in it is taken for markup, ends the block that it
/// is in, or cannot be seen.
pub(super) fn verbatim(text: &str) -> ToolCallContent {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let mut shown = format!("{fence}\n");
    for line in text.lines() {
        writeln!(shown, "{}", Visible(line)).expect("a String takes everything");
    }
    shown.push_str(&fence);
    shown.into()
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{Content, ContentBlock, TextContent};

    use super::*;

    #[test]
    fn nothing_in_a_text_ends_its_block_or_is_hidden() {
        for (text, shown) in [
            ("a\r\nb", "```\na\nb\n```"),
            ("a\rb\u{1b}[2J\u{202e}", "```\na\\rb\\u{1b}[2J\\u{202e}\n```"),
            ("```\n![](http://a)", "````\n```\n![](http://a)\n````"),
            ("", "```\n```"),
        ] {
            let ToolCallContent::Content(Content { content, .. }) = verbatim(text) else {
                panic!("a content")
            };
            let ContentBlock::Text(TextContent { text, .. }) = content else { panic!("a text") };
            assert_eq!(text, shown);
        }
    }
}
