//! JSON of the program's own, by serde: the history, what is told of a service, what a group keeps in its store. What people
//! write is read by [`json`](super::json), which knows its places.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// An object that has no type of its own: its members, by their names; behind a `;` those that are left out where they are `None`.
#[macro_export]
macro_rules! object {
    ($($name:ident: $value:expr),+ $(,)? $(; $($some:ident: $option:expr),+ $(,)?)?) => {{
        #[allow(non_camel_case_types, non_snake_case, reason = "names are those of JSON")]
        let object = {
            #[derive(::serde::Serialize)]
            struct Object<$($name,)+ $($($some),+)?> {
                $($name: $name,)+
                $($(#[serde(skip_serializing_if = "Option::is_none")] $some: Option<$some>),+)?
            }
            Object { $($name: $value,)+ $($($some: $option),+)? }
        };
        object
    }};
}

/// A value as indented text, with a line end.
pub fn indented(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A value on one line, without its end.
pub fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A JSON text as it is, to be a part of another.
pub fn as_is(text: String) -> Option<impl Serialize> {
    RawValue::from_string(text).ok()
}

/// What a text says; `None` if it says something else.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// A member that counts as absent where another version means something else by it.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|value| read(value.get()))
}
