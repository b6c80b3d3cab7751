//! Times, as the document spells them.

use std::time::SystemTime;

use jiff::Timestamp;

/// An instant, and how it is spelled: ISO 8601.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Time {
    text: String,
    at: SystemTime,
}

impl Time {
    /// Now, in UTC and to the millisecond.
    pub(super) fn now() -> Self {
        let text = format!("{:.3}", Timestamp::now());
        Self::parse(text).expect("what a time is written as can be read")
    }

    /// Nothing if that is no time, or none that this system can tell.
    pub(super) fn parse(text: String) -> Option<Self> {
        let at: Timestamp = text.parse().ok()?;
        Some(Self { text, at: at.try_into().ok()? })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn at(&self) -> SystemTime {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spelled_in_utc_to_the_millisecond_and_kept_as_it_was_spelled() {
        let now = Time::now();
        assert_eq!(now.as_str().len(), "2026-01-02T03:04:05.678Z".len(), "{}", now.as_str());
        assert!(now.as_str().ends_with('Z'));
        assert_eq!(Time::parse(now.as_str().to_owned()), Some(now));

        let parsed = |text: &str| Time::parse(text.to_owned());
        let east = parsed("2026-01-02T05:04:05+02:00").unwrap();
        assert_eq!(east.at(), parsed("2026-01-02T03:04:05Z").unwrap().at());
        assert_eq!(east.as_str(), "2026-01-02T05:04:05+02:00");
        for text in ["", "yesterday", "2026-01-02", "2026-13-02T03:04:05Z", "1767323045"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
