//! The environment that a command gets.

use std::ffi::{OsStr, OsString};

/// What a name has in it that looks like a secret, in any case.
const SECRET: [&str; 5] = ["KEY", "PASSWORD", "SECRET", "TOKEN", "CREDENTIAL"];

/// What is ringfence's own.
const OWN: &str = "RINGFENCE_";

/// What keeps a program from waiting for a person, and from colouring what a model reads.
const UNATTENDED: [(&str, &str); 4] =
    [("NO_COLOR", "1"), ("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// What sets the language of messages, strongest first.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Variables by name, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// `ambient` without what looks like a secret, and without what ringfence has set for itself.
    /// What a value holds is not looked at.
    pub(crate) fn scrubbed(ambient: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in ambient {
            if !is_secret(&name) && !is_own(&name) {
                environment.set(name, value);
            }
        }
        environment
    }

    /// For a command that nobody watches: it asks nothing, and its messages are in English.
    pub(crate) fn unattended(mut self) -> Self {
        for (name, value) in UNATTENDED {
            self.set(name.into(), value.into());
        }
        // It would be stronger than the one for messages. Without it, what it says holds for all
        // else, as it did.
        if let Some(all) = self.take("LC_ALL") {
            self.0.retain(|(name, _)| !name.as_encoded_bytes().starts_with(b"LC_"));
            self.set("LANG".into(), all);
        }
        self.set("LC_MESSAGES".into(), "C".into());
        self
    }

    /// With what the caller says, which goes before all of that, whatever its name.
    pub(crate) fn with(mut self, own: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let own: Vec<_> = own.into_iter().filter(|(name, _)| !is_own(name)).collect();
        if own.iter().any(|(name, _)| LOCALE.iter().any(|locale| name == locale)) {
            self.take("LC_MESSAGES");
        }
        for (name, value) in own {
            self.set(name, value);
        }
        self
    }

    /// With what ringfence says.
    pub(crate) fn told(mut self, mode: &str) -> Vec<(OsString, OsString)> {
        self.set(format!("{OWN}MODE").into(), mode.into());
        self.0
    }

    fn set(&mut self, name: OsString, value: OsString) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value));
    }

    fn take(&mut self, name: &str) -> Option<OsString> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET.iter().any(|word| name.contains(word))
}

fn is_own(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(OWN.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn sorted(mut pairs: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        pairs.sort();
        pairs
    }

    #[test]
    fn names_that_look_like_secrets_are_taken_out_in_any_case() {
        let secret = ["X_TOKEN", "API_KEY", "DB_PASSWORD", "MY_SECRET", "AWS_CREDENTIALS"];
        let lower = secret.map(str::to_lowercase);
        let all = secret.iter().copied().chain(lower.iter().map(String::as_str));
        let ambient = all.chain(["PATH", "HOME", "RINGFENCE_MODE"]).map(|n| (n.into(), "x".into()));
        let left = Environment::scrubbed(ambient).0;
        assert_eq!(left, pairs(&[("PATH", "x"), ("HOME", "x")]));
    }

    #[test]
    fn what_the_caller_says_goes_before_the_rest_but_not_before_what_is_ringfences_own() {
        let own = pairs(&[("API_KEY", "given"), ("PAGER", "less"), ("RINGFENCE_MODE", "other")]);
        let environment = Environment::scrubbed([]).unattended().with(own).told("read-only");
        let expected = pairs(&[
            ("API_KEY", "given"),
            ("GIT_PAGER", "cat"),
            ("LC_MESSAGES", "C"),
            ("NO_COLOR", "1"),
            ("PAGER", "less"),
            ("RINGFENCE_MODE", "read-only"),
            ("TERM", "dumb"),
        ]);
        assert_eq!(sorted(environment), expected);
    }

    #[test]
    fn messages_are_in_english_unless_the_caller_sets_a_locale() {
        let of = |ambient: &[(&str, &str)], own: &[(&str, &str)]| {
            let all = Environment::scrubbed(pairs(ambient)).unattended().with(pairs(own)).0;
            let locale = all.into_iter().filter(|(name, _)| {
                let name = name.to_string_lossy();
                name.starts_with("LC_") || name == "LANG"
            });
            sorted(locale.collect())
        };
        let english = ("LC_MESSAGES", "C");
        assert_eq!(of(&[("LANG", "de")], &[]), pairs(&[("LANG", "de"), english]));
        assert_eq!(
            of(&[("LC_ALL", "de"), ("LC_TIME", "fr"), ("LANG", "it")], &[]),
            pairs(&[("LANG", "de"), english])
        );
        assert_eq!(
            of(&[("LC_MESSAGES", "de"), ("LC_TIME", "fr")], &[]),
            pairs(&[english, ("LC_TIME", "fr")])
        );
        assert_eq!(of(&[("LANG", "de")], &[("LANG", "fr")]), pairs(&[("LANG", "fr")]));
    }
}
