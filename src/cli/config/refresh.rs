//! A configuration that a person changes while an agent works under it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ringfence::{PolicyService, Settings};

use super::super::Failure;
use super::{Configuration, Place, Unusable, Why};

/// Reloads the policy of a service when the file says something else. What is not of the policy is
/// as it was at the start.
#[derive(Debug)]
pub(in super::super) struct Refresh<F> {
    place: Place,
    service: Arc<PolicyService>,
    /// From what the file says to the settings, as at the start.
    settings: F,
    last: Mutex<Option<String>>,
}

impl<F: Fn(&Configuration) -> Result<Settings, Failure>> Refresh<F> {
    /// One that knows what `read` says.
    pub(in super::super) fn new(
        named: Option<&Path>,
        read: &Configuration,
        service: Arc<PolicyService>,
        settings: F,
    ) -> Self {
        let place = Place::of(named);
        let last = Mutex::new(read.file.as_ref().map(|(_, text)| text.clone()));
        Self { place, service, settings, last }
    }

    /// Looks whether the file says something else, and if so loads it.
    ///
    /// # Errors
    ///
    /// What keeps it from being loaded, once for each text. The policy then stays as it is.
    pub(in super::super) fn look(&self) -> Result<(), Failure> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = self.place.read()? else {
            // Nothing said is not everything by default: what was forbidden stays so.
            let gone = Unusable { path: Some(self.place.path.clone()), why: Why::Gone };
            return if last.take().is_some() { Err(gone.into()) } else { Ok(()) };
        };
        // Whoever writes it anew may have emptied it first.
        if last.as_ref() == Some(&text) || text.is_empty() {
            return Ok(());
        }
        *last = Some(text.clone());
        let configuration = Configuration::parse(&self.place.path, &text)?;
        Ok(self.service.reload((self.settings)(&configuration)?)?)
    }
}
