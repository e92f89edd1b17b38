//! Enums whose values have names: one key for programs and one word for people, in one row each.

/// Makes such an enum: `Value = "key" "word"`; where there is no word, the key is it.
macro_rules! vocabulary {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$own:meta])* $value:ident = $key:literal $($word:literal)?,)+ }) => {
        $(#[$about])*
        pub enum $name { $($(#[$own])* $value,)+ }

        impl $name {
            /// All of them, in their order.
            pub const ALL: [Self; [$($key),+].len()] = [$(Self::$value),+];

            /// What programs call them, in their order.
            pub const KEYS: [&'static str; Self::ALL.len()] = [$($key),+];

            /// What programs call it.
            pub fn key(self) -> &'static str {
                Self::KEYS[self as usize]
            }

            /// What people call it.
            pub fn word(self) -> &'static str {
                [$([$($word,)? $key][0]),+][self as usize]
            }

            /// The one that programs call so, in any case, with or without blanks around it.
            pub fn parse(key: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.key().eq_ignore_ascii_case(key.trim()))
            }
        }
    };
}

pub(crate) use vocabulary;
