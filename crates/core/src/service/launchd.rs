//! The property list of launchd on macOS. Nobody has tried it there yet; the command and the page say so.

use super::{Home, Scope, Service, Step};

/// What launchd calls it.
pub const LABEL: &str = "ddns-watch";

/// The property list.
pub fn agent(service: &Service, scope: Scope, home: &Home) -> String {
    let words: Vec<String> =
        service.watching().iter().map(|word| format!("        <string>{}</string>", escaped(word))).collect();
    let words = words.join("\n");
    // Two dashes may not stand in a comment: the head of the host's service names no option.
    let head = escaped(&service.head("", "")).replace("--", "- -");
    let log = escaped(&log(scope, home));
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!-- {head} -->
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
    <key>Label</key>
    <string>{LABEL}</string>
    <key>ProgramArguments</key>
    <array>
{words}
    </array>
    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>ThrottleInterval</key>
    <integer>60</integer>
    <key>ProcessType</key>
    <string>Background</string>
    <key>StandardErrorPath</key>
    <string>{log}</string>
</dict>
</plist>
"
    )
}

/// The file that its log goes to.
pub(super) fn log(scope: Scope, home: &Home) -> String {
    match scope {
        Scope::System => "/var/log/ddns.log".to_owned(),
        Scope::User => format!("{}/Library/Logs/ddns.log", home.folder),
    }
}

/// Whose services launchd should look at.
fn domain(scope: Scope, home: &Home) -> String {
    match scope {
        Scope::System => "system".to_owned(),
        Scope::User => format!("gui/{}", home.uid),
    }
}

/// The service as launchd names it.
pub fn target(scope: Scope, home: &Home) -> String {
    format!("{}/{LABEL}", domain(scope, home))
}

/// Starts it; one that runs already is stopped first.
pub(super) fn start(scope: Scope, home: &Home) -> Vec<Step> {
    let file = super::file(super::Manager::Launchd, scope, home).unwrap_or_default();
    vec![stop(scope, home), Step::run(&["launchctl", "bootstrap", &domain(scope, home), &file])]
}

pub(super) fn stop(scope: Scope, home: &Home) -> Step {
    Step::attempt(&["launchctl", "bootout", &target(scope, home)])
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::odd;
    use super::*;

    #[test]
    fn a_path_means_to_xml_what_it_is() {
        let text = agent(&odd(), Scope::System, &Home::default());
        assert!(text.contains("<string>/etc/ddns/it's \"$HOME\" \\ &lt;é&gt;&amp;.json</string>"), "{text}");
        let comment = text.split("<!--").nth(1).and_then(|rest| rest.split("-->").next()).expect("a comment");
        assert!(!comment.contains("--"), "{comment}");
    }
}
