//! Tests importing variables of favonia/cloudflare-ddns.

use crate::import::tests::{notes, read, shown, try_read, written};
use crate::import::{NotePart, PeerClient};

#[test]
fn l8_cloudflare_ddns_variables_become_entries() {
    let import = read(
        PeerClient::CloudflareDdns,
        "CLOUDFLARE_API_TOKEN=\"t\"\nDOMAINS=a.example.org,,b.example.org *.example.org,c.other.net\nIP4_DOMAINS=v4.example.org\n\
         IP6_DOMAINS=n.example.org{hostid6=::1:2}, m.example.org{hostid6=mac(00-11-22-33-44-55)}\nIP4_PROVIDER=local\nUPDATE_CRON=*/7 * * * *\nTTL=60\n",
    );
    let expected = [
        "cloudflare a.example.org:A b.example.org:A *.example.org:A v4.example.org:A a.example.org:AAAA b.example.org:AAAA *.example.org:AAAA n.example.org:AAAA m.example.org:AAAA default public",
        "cloudflare c.other.net:A c.other.net:AAAA default public",
    ];
    assert_eq!(shown(&import), expected);
    let text = crate::text::json::pretty(&written(&import)[0].1);
    assert!(
        text.contains("\"::1:2\"") && text.contains("\"::211:22ff:fe33:4455\"") && text.contains("\"7m\""),
        "{text}"
    );
    assert_eq!(notes(&import, NotePart::Dropped), ["7 TTL"]);
    let deleting = read(PeerClient::CloudflareDdns, "CF_API_TOKEN=t\nDOMAINS=a.example.org\nDELETE_ON_STOP=true\n");
    assert_eq!(notes(&deleting, NotePart::Dropped), ["3 DELETE_ON_STOP"]);
    let odd = read(
        PeerClient::CloudflareDdns,
        "CF_API_TOKEN=t\nIP6_DOMAINS=n.example.org{hostid6=mac(bad)}, m.example.org\nIP6_PROVIDER=local\n",
    );
    assert_eq!(shown(&odd), ["cloudflare m.example.org:AAAA default"]);
    assert_eq!(notes(&odd, NotePart::LeftOut), ["2 n.example.org"]);
    let off = read(
        PeerClient::CloudflareDdns,
        "CF_API_TOKEN=t\nDOMAINS=a.example.org\nIP6_PROVIDER=none\nUPDATE_CRON=@once\n",
    );
    assert_eq!(shown(&off), ["cloudflare a.example.org:A public"]);
    assert!(off.settings.is_empty(), "{:?}", off.settings);
    let unmanaged = "CF_API_TOKEN=t\nDOMAINS=a.example.org\nIP6_POLICY=unmanaged\nIP4_PROVIDER=cloudflare.trace\n";
    let unmanaged = read(PeerClient::CloudflareDdns, unmanaged);
    assert_eq!(shown(&unmanaged), ["cloudflare a.example.org:A public"]);
    assert!(unmanaged.notes.is_empty(), "{:?}", unmanaged.notes);
    let sources = [
        ("cloudflare.doh", "public"),
        ("local.iface:eth0", "interface:eth0"),
        ("url:https://x.example/", "url:https://x.example/"),
        ("file:/a b", "shell:cat '/a b'"),
        ("static:2001:db8::1;touch${IFS}x", "shell:echo '2001:db8::1;touch${IFS}x'"),
        ("static:2001:db8::1,2001:db8::2", "shell:echo 2001:db8::1"),
    ];
    for (provider, source) in sources {
        let text = format!("CF_API_TOKEN=t\nIP6_DOMAINS=a.example.org\nIP6_PROVIDER={provider}\n");
        assert_eq!(
            shown(&read(PeerClient::CloudflareDdns, &text)),
            [format!("cloudflare a.example.org:AAAA {source}")]
        );
    }
    let differ =
        try_read(PeerClient::CloudflareDdns, "CF_API_TOKEN=t\nCLOUDFLARE_API_TOKEN=u\nDOMAINS=a.example.org\n");
    assert!(differ.is_err_and(|error| error.message.contains("differ")));
}

#[test]
fn l13_a_secret_in_a_file_stays_there() {
    let import = read(PeerClient::CloudflareDdns, "CF_API_TOKEN_FILE=/run/secrets/cf\nDOMAINS=a.example.org\n");
    for folder in [None, Some("/f")] {
        let filled = import.document(&[0], folder, "x").expect("a configuration");
        assert!(filled.text.contains("\"file\": \"/run/secrets/cf\""), "{}", filled.text);
        assert!(filled.secrets.is_empty());
    }
}
