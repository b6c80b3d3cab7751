//! Directories that a client wants beside the one of its session.

use std::path::PathBuf;

use agent_client_protocol::{Error, ErrorCode};

/// Refuses a session with directories beside its working directory. Only the operator says where a
/// policy may write, so a client that asks for more is told, and is not given a session with less
/// than it expects.
///
/// # Errors
///
/// Invalid params, with the explanation, unless there are none.
pub fn refuse_additional(directories: &[PathBuf]) -> Result<(), Error> {
    if directories.is_empty() {
        return Ok(());
    }
    let text = format!(
        "additional directories are not part of the policy, so there is no session with \
         {directories:?}: open one for each directory, or have the operator allow more"
    );
    Err(Error::new(ErrorCode::INVALID_PARAMS, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_beside_the_working_directory_is_refused_and_named() {
        assert!(refuse_additional(&[]).is_ok());
        let error = refuse_additional(&["/a\nb".into()]).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!(error.message.contains(r#""/a\nb""#), "{error:?}");
    }
}
