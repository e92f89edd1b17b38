//! The files of the page: one style sheet, one script, one icon. Their names change with their content, so that a browser may
//! keep them forever.

use std::sync::OnceLock;

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    written: &'static str,
    /// The content as it is sent; made for the first request.
    slim: OnceLock<String>,
    pub(crate) content_type: &'static str,
    ending: &'static str,
    fingerprint: u64,
}

pub(crate) static STYLE: Asset = Asset::new(include_str!("../assets/style.css"), "text/css; charset=utf-8", "css");
pub(crate) static SCRIPT: Asset =
    Asset::new(include_str!("../assets/script.js"), "text/javascript; charset=utf-8", "js");
pub(crate) static ICON: Asset = Asset::new(include_str!("../assets/icon.svg"), "image/svg+xml", "svg");

impl Asset {
    const fn new(content: &'static str, content_type: &'static str, ending: &'static str) -> Self {
        // FNV-1a: it only has to change with the content.
        let (bytes, mut at, mut fingerprint) = (content.as_bytes(), 0, 0xcbf2_9ce4_8422_2325_u64);
        while at < bytes.len() {
            fingerprint = (fingerprint ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        Self { written: content, slim: OnceLock::new(), content_type, ending, fingerprint }
    }

    /// The content as it is sent: without comments and indentation.
    pub(crate) fn content(&self) -> &str {
        self.slim.get_or_init(|| slim(self.written, self.ending == "css"))
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> String {
        format!("/assets/{:016x}.{}", self.fingerprint, self.ending)
    }

    /// The file with this path.
    pub(crate) fn at(path: &str) -> Option<&'static Self> {
        [&STYLE, &SCRIPT, &ICON].into_iter().find(|asset| asset.path() == path)
    }
}

/// Removes indentation and comment lines; in a style sheet also spaces around punctuation.
fn slim(text: &str, is_style: bool) -> String {
    let is_comment = |line: &str| line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    let text = lines.fold(String::with_capacity(text.len()), |text, line| text + line + "\n");
    let signs = [(" {", "{"), ("{ ", "{"), ("; ", ";"), (": ", ":"), (", ", ","), (" }", "}")];
    let signs = signs.into_iter().filter(|_| is_style);
    signs.fold(text, |text, (spaced, sign)| text.replace(spaced, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i1_the_files_of_the_page_are_light_and_found_by_their_names() {
        let all = [&STYLE, &SCRIPT, &ICON];
        assert!(
            all.iter().map(|asset| asset.content().len()).sum::<usize>() < 30 * 1024,
            "half of what a page may weigh"
        );
        for asset in all {
            assert!(Asset::at(&asset.path()).is_some_and(|found| std::ptr::eq(found, asset)));
            // These would load other files, or embed them.
            assert!(!asset.content().contains("url(") && !asset.content().contains("@import"));
        }
        assert!(Asset::at("/assets/style.css").is_none());
    }
}
