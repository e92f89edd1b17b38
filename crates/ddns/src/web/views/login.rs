//! The login page, and the page that is shown instead of a view if something is wrong.

use maud::{Markup, html};

use super::parts::{FormField, token_field};

/// The login page: `to` is the page that was requested, `wrong` the error of the previous try.
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
                    // For password managers.
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
