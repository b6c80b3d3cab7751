//! The fields of a JSON object, of which not all have to be known.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::error::Inconsistency;

/// Fields that nothing here knows, each as it was written, to the byte and in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Unknown(Vec<(String, Box<RawValue>)>);

impl Unknown {
    pub(super) fn serialize<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

/// An object that is being read, and where it stands in the document.
#[derive(Debug)]
pub(super) struct Fields {
    place: String,
    all: Vec<(String, Box<RawValue>)>,
}

impl Fields {
    /// Reads the object that is all of `text`.
    pub(super) fn of_document(text: &str) -> Result<Self, Inconsistency> {
        let Pairs(all) = serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Syntax | Category::Eof | Category::Io => {
                Inconsistency::NotJson { line: error.line(), column: error.column() }
            }
            Category::Data => wrong("the document", "an object"),
        })?;
        Self { place: String::new(), all }.unique()
    }

    /// Takes a field that is an object itself.
    pub(super) fn take_object(&mut self, name: &str) -> Result<Self, Inconsistency> {
        let Pairs(all) = self.take(name, "an object")?;
        Self { place: self.path_of(name), all }.unique()
    }

    /// Takes a field of a type that `expected` tells.
    pub(super) fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &'static str,
    ) -> Result<T, Inconsistency> {
        let index = self.all.iter().position(|(field, _)| field == name);
        let value = index.map(|index| self.all.remove(index).1);
        let read = value.and_then(|value| serde_json::from_str(value.get()).ok());
        read.ok_or_else(|| wrong(self.path_of(name), expected))
    }

    /// That a field is not what it has to be.
    pub(super) fn wrong(&self, name: &str, expected: &'static str) -> Inconsistency {
        wrong(self.path_of(name), expected)
    }

    /// The name of the field that comes next.
    pub(super) fn first(&self) -> Option<String> {
        self.all.first().map(|(name, _)| name.clone())
    }

    /// What nobody has taken.
    pub(super) fn rest(self) -> Unknown {
        Unknown(self.all)
    }

    /// Two fields of one name would leave it open which is meant.
    fn unique(self) -> Result<Self, Inconsistency> {
        let mut names: Vec<_> = self.all.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Inconsistency::FieldTwice { field: self.path_of(pair[0]) }),
            None => Ok(self),
        }
    }

    fn path_of(&self, name: &str) -> String {
        let name = name.escape_debug();
        if self.place.is_empty() { name.to_string() } else { format!("{}.{name}", self.place) }
    }
}

fn wrong(field: impl Into<String>, expected: &'static str) -> Inconsistency {
    Inconsistency::Type { field: field.into(), expected }
}

/// All fields of an object, also those of one name.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
