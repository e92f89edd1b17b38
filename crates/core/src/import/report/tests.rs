//! The texts of the report.

use super::{exposed, why_left_out};
use crate::import::PeerClient;
use crate::import::tests::read;

#[test]
fn l13_the_report_names_the_fields_that_still_may_contain_a_secret() {
    let favonia = read(
        PeerClient::CloudflareDdns,
        "CF_API_TOKEN=t\nDOMAINS=a.example.org\nUPTIMEKUMA=https://kuma.example/api/push/KumaKey01?status=up\n\
         HEALTHCHECKS=https://hc-ping.com/01234567-0123-0123-0123-0123456789ab\n",
    );
    let filled = favonia.document(&[0], Some("/f"), "x").expect("a configuration");
    for secret in ["KumaKey01", "01234567-0123-0123-0123-0123456789ab"] {
        assert!(!filled.text.contains(secret), "{}", filled.text);
        assert!(filled.secrets.iter().any(|(_, text)| text == secret));
    }
    assert_eq!(exposed(&favonia, &[0]), Vec::<String>::new());
    let hook = |id: &str, secret: &str| {
        let text = format!(
            "dnsconf:\n- ipv4:\n    enable: true\n    gettype: cmd\n    cmd: x\n    domains:\n    - a.example\n  dns:\n    name: callback\n    id: {id}\n    secret: '{secret}'\n"
        );
        exposed(&read(PeerClient::DdnsGo, &text), &[0])
    };
    assert_eq!(hook("https://h.example/?key=abc&i=#{ip}", r##"{"k": "s3cret", "i": "#{ip}"}"##), ["`id`", "`token`"]);
    assert_eq!(hook("https://h.example/?i=#{ip}", ""), Vec::<String>::new());
    let ddclient = |settings: &str| {
        let text =
            format!("{settings}\nlogin=u, password=p a.example\nprotocol=easydns, login=u, password=p b.example\n");
        exposed(&read(PeerClient::Ddclient, &text), &[0, 1])
    };
    assert_eq!(ddclient("usev4=webv4, server=own.example, script=/x"), Vec::<String>::new(), "`extra` has files");
    let router = "use=fw, fw=192.168.1.1/s, fw-login=a, fw-password=b";
    assert_eq!(ddclient(router), ["`index4` of entry 1", "`index4` of entry 2"]);
}

#[test]
fn l12_a_value_that_is_refused_is_not_called_missing() {
    let text = "dnsconf:\n- ipv4:\n    enable: true\n    gettype: cmd\n    cmd: x\n    domains:\n    - a.example.com\n  dns:\n    name: alidns\n    id: wrong\n";
    let import = read(PeerClient::DdnsGo, text);
    let missing = import.entries[0].missing().expect("a form");
    let why = why_left_out(5, &missing);
    let (absent, refused) = why.split_once("; left out, because ").expect("both");
    assert!(absent.starts_with("left out, because this is missing: AccessKey secret (--set 5.secret=…"), "{why}");
    assert!(
        refused.starts_with(
            "the file has a value that cannot be right: AccessKey ID (this does not look like the AccessKey ID"
        ) && refused.ends_with("; --set 5.id=… replaces it)"),
        "{why}"
    );
}
