//! The way in, and what stands there instead of a view where something is wrong.

use maud::{Markup, Render, html};

use super::parts::{FormField, token_field};

/// What the page for logging in is made of.
pub(crate) struct LoginForm<'a> {
    pub(crate) token: &'a str,
    /// The page that was wanted.
    pub(crate) to: Option<&'a str>,
    /// What was wrong with the try before.
    pub(crate) wrong: Option<&'a str>,
}

impl Render for LoginForm<'_> {
    fn render(&self) -> Markup {
        let field = FormField {
            id: "password",
            label: "Password",
            help: Some("The password you gave to the command ddns password."),
            wrong: self.wrong,
        };
        html! {
            div.stack.gate {
                section.card {
                    h1 { "Log in" }
                    form method="post" action="/login" {
                        (token_field(self.token))
                        @if let Some(to) = self.to { input type="hidden" name="to" value=(to); }
                        // For programs that keep passwords.
                        input type="text" name="user" value="ddns" autocomplete="username" hidden;
                        (field.around(&html! {
                            input type="password" id="password" name="password" autocomplete="current-password" required autofocus
                                aria-describedby=[field.described()] aria-invalid=[self.wrong.map(|_| "true")];
                        }))
                        button.main { "Log in" }
                    }
                }
            }
        }
    }
}

/// A page that says what is wrong and what to do next.
pub(crate) struct ErrorPage<'a> {
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

impl Render for ErrorPage<'_> {
    fn render(&self) -> Markup {
        html! {
            div.stack.gate {
                section.card {
                    h1 { (self.title) }
                    p { (self.text) }
                    p { a.button href="/" { "To the overview" } }
                }
            }
        }
    }
}
