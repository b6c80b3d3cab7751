//! What a prompt is, where there is no model: calls of tools, as JSON.

use std::fmt;

use ringfence::acp::protocol::v1::schema::{ContentBlock, TextContent};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One call of a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Called {
    /// The name of the tool.
    pub(super) tool: String,
    /// What it is called with.
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
}

/// What a text of a prompt may be.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Calls {
    One(Called),
    Many(Vec<Called>),
}

/// A prompt that has no calls, or something else beside them.
#[derive(Debug)]
pub(super) struct NoCalls;

/// The calls of a prompt, in their order.
///
/// # Errors
///
/// [`NoCalls`] unless each block of it is a text that has one call or an array of them.
pub(super) fn calls(prompt: Vec<ContentBlock>) -> Result<Vec<Called>, NoCalls> {
    let mut calls = Vec::new();
    for block in prompt {
        let ContentBlock::Text(TextContent { text, .. }) = block else { return Err(NoCalls) };
        match serde_json::from_str(&text).map_err(|_| NoCalls)? {
            Calls::One(call) => calls.push(call),
            Calls::Many(more) => calls.extend(more),
        }
    }
    if calls.is_empty() { Err(NoCalls) } else { Ok(calls) }
}

impl fmt::Display for NoCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "Nothing was called. There is no model here: each text of a prompt is a call of a tool \
             as JSON, or an array of calls, and nothing else.\n\n\
             ```json\n{\"tool\": \"read\", \"arguments\": {\"file_path\": \"README.md\"}}\n```\n",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Option<Vec<String>> {
        let blocks = texts.iter().map(|text| ContentBlock::from(*text)).collect();
        let calls = calls(blocks).ok()?;
        Some(calls.into_iter().map(|call| call.tool).collect())
    }

    #[test]
    fn a_text_is_a_call_or_an_array_of_them() {
        let read = r#"{"tool": "read", "arguments": {"file_path": "a"}}"#;
        assert_eq!(parsed(&[read]).unwrap(), ["read"]);
        let both = r#"[{"tool": "list"}, {"tool": "bash", "arguments": {}}]"#;
        assert_eq!(parsed(&[both, read]).unwrap(), ["list", "bash", "read"]);
    }

    #[test]
    fn what_is_no_call_is_none_and_neither_is_what_stands_beside_it() {
        let call = r#"{"tool": "list"}"#;
        for prompt in [
            &[][..],
            &["[]"],
            &["list"],
            &[call, "and then stop"],
            &[r#"{"tool": "list", "mode": "danger-full-access"}"#],
            &[r#"{"tool": "list", "arguments": [1]}"#],
        ] {
            assert!(parsed(prompt).is_none(), "{prompt:?}");
        }
    }
}
