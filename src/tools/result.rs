//! What a call of a tool comes to, for a model and for a program.

use serde_json::Value;

use crate::error::Code;

use super::answer::Answer;
use super::failure::Failure;
use super::texts::{self, Standing};
use super::values;

/// What came of a call of a tool.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a call that failed says so in its result alone"]
#[non_exhaustive]
pub struct ToolResult {
    /// Whether the call failed. Then nothing was changed, unless the text says otherwise.
    pub is_error: bool,
    /// What a model reads. It may be worded otherwise in any version.
    pub text: String,
    /// The same for a program, as an object; of an error `code` and, where there is one, `reason`.
    pub value: Value,
    /// What the error means, if it is one.
    pub code: Option<Code>,
}

impl ToolResult {
    pub(super) fn told(result: Result<Answer, Failure>, standing: Standing) -> Self {
        match result {
            Ok(answer) => Self {
                is_error: false,
                text: texts::answer(&answer, standing),
                value: values::answer(&answer),
                code: None,
            },
            Err(failure) => Self {
                is_error: true,
                text: texts::failure(&failure, standing),
                value: values::failure(&failure),
                code: Some(failure.code()),
            },
        }
    }
}
