//! Enums whose values have names: one key for programs and one word for people, in one row each.

/// Makes such an enum: `Value = "key" "word"`; without a word, the key is the word.
macro_rules! vocabulary {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$own:meta])* $value:ident = $key:literal $($word:literal)?,)+ }) => {
        $(#[$about])*
        pub enum $name { $($(#[$own])* $value,)+ }

        impl $name {
            /// All values, in order.
            pub const ALL: [Self; [$($key),+].len()] = [$(Self::$value),+];

            /// The keys of all values, in order.
            pub const KEYS: [&'static str; Self::ALL.len()] = [$($key),+];

            /// Its name for programs.
            pub fn key(self) -> &'static str {
                Self::KEYS[self as usize]
            }

            /// Its name for people.
            pub fn word(self) -> &'static str {
                [$([$($word,)? $key][0]),+][self as usize]
            }

            /// The value with this key, in any case, with or without spaces around it.
            pub fn parse(key: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.key().eq_ignore_ascii_case(key.trim()))
            }
        }
    };
}

pub(crate) use vocabulary;
