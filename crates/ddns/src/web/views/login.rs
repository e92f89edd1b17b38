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

/// Why a form must be sent once more.
pub(crate) fn renewed(is_let_in: bool) -> (&'static str, Markup) {
    if is_let_in {
        let why = html! { p { "The service was restarted, or you logged in, after this form was opened." } };
        ("Send it again?", why)
    } else {
        let why = html! { p { a href="/login" target="_blank" { "Log in again in another tab" } ", then send it from here." } };
        ("Your session has ended", why)
    }
}

/// The same form once more, with everything that was typed and the token of today.
pub(crate) fn once_more(
    (heading, why): (&str, Markup),
    (path, button): (&str, &str),
    token: &str,
    typed: &[(String, String)],
) -> Markup {
    html! {
        div.stack.gate {
            section.card {
                h1 { (heading) }
                p { "Nothing was done yet, and nothing that you typed is lost." }
                (why)
                form method="post" action=(path) data-guard data-dirty {
                    (token_field(token))
                    @for (name, text) in typed.iter().filter(|(name, _)| name != "token") { input type="hidden" name=(name) value=(text); }
                    button.main { (button) }
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
