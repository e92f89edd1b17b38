//! *Configuration*: the text of a file, to be read.

use maud::{Markup, html};

use super::parts::{Tone, code, notice};

/// One of the files; `text` is without secrets, or a sentence that says why there is none.
pub(crate) fn page(names: &[String], number: usize, text: Result<&str, &String>) -> Markup {
    let name = names.get(number).map_or("", String::as_str);
    html! {
        div.stack {
            div.head { div { h1 { "Configuration" } p.soft { (name) } } }
            @if names.len() > 1 {
                nav.chips aria-label="Files" {
                    @for (other, name) in names.iter().enumerate() {
                        a href={ "/configuration?file=" (other) } aria-current=[(other == number).then_some("page")] { (name) }
                    }
                }
            }
            @match text {
                Ok(text) => {
                    p.soft { "What is secret shows as ***. Edit the file on the host: the service notices." }
                    (code(text, "the configuration"))
                }
                Err(why) => (notice(Tone::Info, why)),
            }
        }
    }
}
