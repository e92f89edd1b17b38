//! The way in, and what stands there instead of a view where something is wrong.

use maud::{Markup, html};

use super::parts::{FormField, token_field};

/// The page for logging in: `to` is the page that was wanted, `wrong` what was wrong with the try before.
pub(crate) fn form(token: &str, to: Option<&str>, wrong: Option<&str>) -> Markup {
    let help = Some("The password you gave to the command ddns password.");
    let field = FormField { id: "password", label: "Password", help, wrong };
    html! {
        div.stack.gate {
            section.card {
                h1 { "Log in" }
                form method="post" action="/login" {
                    (token_field(token))
                    @if let Some(to) = to { input type="hidden" name="to" value=(to); }
                    // For programs that keep passwords.
                    input type="text" name="user" value="ddns" autocomplete="username" hidden;
                    (field.around(&html! {
                        input type="password" id="password" name="password" autocomplete="current-password" required autofocus
                            aria-describedby=[field.described()] aria-invalid=[field.invalid()];
                    }))
                    button.main { "Log in" }
                }
            }
        }
    }
}

/// A page that says what is wrong and what to do next.
pub(crate) fn error(title: &str, text: &str) -> Markup {
    html! {
        div.stack.gate {
            section.card {
                h1 { (title) }
                p { (text) }
                p { a.button href="/" { "To the overview" } }
            }
        }
    }
}
