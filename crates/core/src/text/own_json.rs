//! The program's own JSON, by serde: the history, the state of a service, what a group keeps in its store.
//! [`json`](super::json) reads what people write, with its places.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// A JSON object without its own type: its members by name; after a `;`, those that are left out if they are `None`.
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

/// A value on one line, without a line end.
pub fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A JSON text to put unchanged into another; `None` if it is not JSON.
pub fn as_is(text: String) -> Option<impl Serialize> {
    RawValue::from_string(text).ok()
}

/// The value of a JSON text; `None` if the text does not fit the type.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Reads a member that counts as absent if another version wrote something else there.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|value| read(value.get()))
}
