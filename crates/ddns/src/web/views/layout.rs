//! The frame of every page: the head, the navigation, and everything else that all pages share.

use maud::{DOCTYPE, Markup, html};

use super::assets::{ICON, SCRIPT, STYLE};
use super::parts::{SPRITE, icon, token_field};

/// The views in the navigation: path, name, and whether the view refreshes itself.
const TABS: [(&str, &str, bool); 7] = [
    ("/", "Overview", true),
    ("/addresses", "Addresses", true),
    ("/requests", "Requests", true),
    ("/history", "History", true),
    ("/log", "Log", true),
    ("/configuration", "Configuration", false),
    ("/recipes", "Recipes", false),
];

/// The whole page. `title` is shown in the title of the window. `tab` is the path of its view; empty: none of the views; `None`:
/// no navigation is shown. `token` proves that a form was sent from this page.
pub(crate) fn page(title: &str, tab: Option<&str>, token: &str, can_log_out: bool, content: &Markup) -> Markup {
    let is_live = TABS.iter().any(|(path, _, is_live)| *is_live && tab == Some(path));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · ddns" }
                link rel="icon" href=(ICON.path()) type="image/svg+xml";
                link rel="stylesheet" href=(STYLE.path());
                script src=(SCRIPT.path()) {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                (SPRITE)
                (top(tab, token, can_log_out))
                main #content tabindex="-1" data-live[is_live] { (content) }
                footer.foot { span { "ddns " (env!("CARGO_PKG_VERSION")) } }
                p #connection role="status" hidden {
                    span { "Reconnecting: the service does not respond. What you see may be old." }
                    span hidden { "Your session has ended. " a href="/login" target="_blank" { "Log in again in another tab" } ", then go on here." }
                }
            }
        }
    }
}

fn top(tab: Option<&str>, token: &str, can_log_out: bool) -> Markup {
    html! {
        header.top {
            div {
                a.brand href="/" { (mark()) "ddns" }
                @if let Some(current) = tab {
                    nav.tabs aria-label="Views" {
                        ul {
                            @for (path, name, _) in TABS {
                                li { a href=(path) aria-current=[(path == current).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                div.tools {
                    button.bare type="button" hidden data-theme-switch title="Light or dark" {
                        (icon("theme")) span.unseen { "Light or dark" }
                    }
                    @if can_log_out {
                        form method="post" action="/logout" { (token_field(token)) button.bare { "Log out" } }
                    }
                }
            }
        }
    }
}

/// The logo: a name that points to an address.
fn mark() -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" {
            rect width="24" height="24" rx="7" {}
            path d="M6 12h8m-3.5-4 4 4-4 4" {}
            circle cx="18" cy="12" r="1.6" {}
        }
    }
}
