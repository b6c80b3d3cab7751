//! A refusal as the protocol has it.

use agent_client_protocol::{Error as Told, ErrorCode};
use serde_json::json;

use crate::error::{Code, Error};

/// Returns the answer to a request that came to nothing: invalid params for a value that cannot be
/// taken, else an internal error; with the text of `error`, and its code as `code` in the data.
#[must_use]
pub fn refusal(error: &Error) -> Told {
    let code = error.code();
    let told = if code == Code::PolicyInvalid {
        ErrorCode::INVALID_PARAMS
    } else {
        ErrorCode::INTERNAL_ERROR
    };
    Told::new(told, error.to_string()).data(json!({ "code": code.as_str() }))
}
