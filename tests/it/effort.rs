//! How much is done of what could go on without end.

/// Set where all tests run several times over: then each does a little of it.
pub(crate) const BRIEF: &str = "RINGFENCE_TEST_BRIEF";
/// What a brief run does of the whole.
const PART: usize = 10;

/// `rounds`, or a part of them in a brief run.
pub(crate) fn rounds(rounds: usize) -> usize {
    if std::env::var_os(BRIEF).is_some() { rounds.div_ceil(PART) } else { rounds }
}

/// The same, but as many as the variable `name` asks for if it is set: a nightly run has more time.
pub(crate) fn rounds_or(name: &str, default: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => {
            text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, which is no number"))
        }
        Err(_) => rounds(default),
    }
}
