//! What other clients' files become: a sample for every quirk, and the tables against the recipes.

use std::collections::BTreeSet;

use super::rules::{page, seconds};
use super::table::{PeerTable, ServiceRow, is_yes};
use super::{Detected, Import, NotePart, PeerClient, PeerError, PeerSurroundings, detected, rows, yaml};
use crate::config::raw::{self, Document};
use crate::config::validate::{Surroundings, validate};
use crate::recipe;
use crate::text::json::{Dialect, Value, parse};

fn nothing(_: &str) -> Result<String, String> {
    Err("does not exist".to_owned())
}

pub(super) fn try_read(peer: PeerClient, text: &str) -> Result<Import, PeerError> {
    let variable = |name: &str| (name == "SET").then(|| "from-environment".to_owned());
    Import::read(peer, text, &PeerSurroundings { file: "file", read: &nothing, variable: &variable })
}

pub(super) fn read(peer: PeerClient, text: &str) -> Import {
    try_read(peer, text).unwrap_or_else(|error| panic!("line {}: {}", error.line, error.message))
}

/// The entries that are written, each alone and valid: name of the recipe, its fields.
pub(super) fn written(import: &Import) -> Vec<(String, Value)> {
    let entry = |place: usize| {
        let entry = &import.entries[place];
        let missing: Vec<String> = entry.missing().expect("a form").into_iter().map(|it| it.name).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let text = import.document(&[place], None, "file").expect("a configuration").text;
        let document = raw::read(&Document::local("config.json", &text)).expect("JSON");
        if let Err(wrong) = validate("config.json", Some(document), &Surroundings::default()) {
            panic!("{text}\n{}", wrong[0].shown());
        }
        let value = parse(&text, Dialect::CONFIG).expect("JSON").value;
        (entry.recipe().unwrap_or("-").to_owned(), value)
    };
    (0..import.entries.len()).map(entry).collect()
}

/// `recipe a.example:A x.example:AAAA KEY=value`, sorted out of what is written.
pub(super) fn shown(import: &Import) -> Vec<String> {
    let line = |(recipe, value): &(String, Value)| {
        let mut line = recipe.clone();
        for (list, kind) in [("ipv4", "A"), ("ipv6", "AAAA")] {
            for part in [value.member("providers")].into_iter().flatten().chain([value]) {
                let objects: Vec<&Value> = match part {
                    Value::Array(items) => items.iter().map(|item| &item.value).collect(),
                    other => vec![other],
                };
                for names in objects.iter().filter_map(|object| object.member(list)) {
                    let Value::Array(names) = names else { continue };
                    for name in names.iter().map(|name| &name.value) {
                        line += &format!(
                            " {}:{kind}",
                            name.text().or(name.member("name").and_then(Value::text)).unwrap_or("?")
                        );
                    }
                }
            }
        }
        for index in ["index4", "index6"] {
            if let Some(Value::Array(items)) = value.member(index) {
                line +=
                    &format!(" {}", items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>().join(","));
            }
        }
        line
    };
    written(import).iter().map(line).collect()
}

pub(super) fn extra<'a>(value: &'a Value, name: &str) -> &'a str {
    value.member("extra").and_then(|extra| extra.member(name)).and_then(Value::text).unwrap_or_default()
}

pub(super) fn notes(import: &Import, part: NotePart) -> Vec<String> {
    let notes = import.notes.iter().filter(|note| note.part == part);
    notes.map(|note| format!("{} {}", note.line, note.what)).collect()
}

pub(super) fn written_one(import: &Import) -> Value {
    written(import).remove(0).1
}

#[test]
fn l18_every_recipe_and_question_of_the_tables_exists() {
    for peer in PeerClient::ALL {
        let table = peer.table();
        assert!(!table.stop().is_empty(), "{peer:?}");
        let count = |row: &str| if row.contains("<n>") { 2 } else { 1 };
        assert_eq!(
            table.meanings().len(),
            table.lines("> ").map(count).sum::<usize>(),
            "{peer:?}: each row is understood"
        );
        let everywhere: BTreeSet<&str> =
            table.0.lines().filter_map(|line| line.strip_prefix("* ")).flat_map(|line| line.split(' ')).collect();
        for line in table.0.lines().filter(|line| !line.starts_with(['~', '*', ':', '!', '#', '>', '%'])) {
            let (names, _) = line.split_once(' ').expect("names");
            for name in names.split(',') {
                // With and without what guards ask for.
                for value in [None, Some("yes true api @")] {
                    let Some(ServiceRow::Recipe(recipe, answers)) = table.row(name, &|_| value.map(str::to_owned))
                    else {
                        continue;
                    };
                    let found = recipe::named(recipe).unwrap_or_else(|_| panic!("{peer:?}: no recipe {recipe}"));
                    assert!(found.has_entry(), "{recipe}");
                    for (question, expression) in answers {
                        let is_default = everywhere.contains(format!("{question}={expression}").as_str());
                        let is_known = found.questions.iter().any(|known| known.name == question);
                        assert!(
                            is_default || is_known || matches!(question, "name" | "zone"),
                            "{peer:?} {recipe}: {question}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn l18_every_provider_of_each_client_is_in_its_table() {
    let lists = [
        (
            PeerClient::Ddclient,
            "changeip domeneshop dondominio dynu easydns infomaniak inwx ovh noip zoneedit1 mythicdyn simply.com \
            cloudflare digitalocean gandi godaddy hetzner porkbun namecheap ionos dnsexit2 cloudns duckdns ddnss he.net njalla \
            regfishde keysystems dnsmadeeasy freedns dyndns2 members.dyndns.org dynupdate.no-ip.com update.dedyn.io dynv6.com \
            svc.joker.com dyndns.kasserver.com carol.selfhost.de dyndns.strato.com updates.opendns.com updates.dnsomatic.com \
            ipv4.nsupdate.info ipv6.nsupdate.info dyn.dns.he.net ipv4.tunnelbroker.net dyndns.inwx.com infomaniak.com \
            api.dynu.com ydns.io nic.changeip.com dyndns.variomedia.de dns.loopia.se dyndns.loopia.se www.ovh.com 1984 ddns.fm \
            dinahosting directnic dslreports1 dynadot dyndns1 emailonly enom freemyip netcup nfsn ns1 nsupdate sitelutions \
            spaceship yandex",
        ),
        (
            PeerClient::Inadyn,
            "all-inkl.com changeip.com core-networks.de dnsomatic.com domene.shop dyndns.org dynu.com easydns.com goip.de \
            infomaniak.com inwx.com joker.com loopia.com no-ip.com noip.com opendns.com ovh.com selfhost.de simply.com strato.com \
            variomedia.de zoneedit.com cloudflare.com duckdns.org dynv6.com ipv64.net regfish.de namecheap.com dnspod.cn \
            porkbun.com desec.io he.net spdyn.de nsupdate.info domaindiscount24.com moniker.com tunnelbroker.net \
            dnsmadeeasy.com freedns.afraid.org ddnss.de 3322.org cloudxns.net dhis.org dnsever.com dnsexit.com dnshome.de \
            dnsmax.com thatip.com do.de domopoli.de duiadns.net dy.fi dyndns.it freemyip.com gira.de itsdns mydns.jp \
            myonlineportal.net oray.com schokokeks.org sitelutions.com twodns.de udmedia.de yandex.com",
        ),
        (
            PeerClient::DdnsGo,
            "cloudflare dnspod porkbun godaddy namecheap namesilo vercel dynv6 name_com desec callback alidns aliesa \
            tencentcloud trafficroute dnsla huaweicloud baiducloud dynadot spaceship nowcn eranet tnethk gcore edgeone nsone \
            rainyun hipmdnsmgr cloudns",
        ),
        (
            PeerClient::DdnsUpdater,
            "allinkl changeip dnsomatic dondominio dynu goip infomaniak inwx loopia noip nowdns opendns ovh \
            selfhost.de servercow dyn easydns zoneedit name.com luadns variomedia domeneshop strato bunny ionos cloudflare desec \
            digitalocean dnspod duckdns dynv6 hetzner hetznercloud hostinger linode vercel freedns gandi gigahostno godaddy \
            ipv64 namesilo he myaddr njalla dd24 namecheap porkbun scaleway vultr spdyn ddnss custom aliyun dreamhost gcp \
            netcup route53 spaceship example google",
        ),
        (PeerClient::CloudflareDdns, "cloudflare"),
        (
            PeerClient::NewFuture,
            "callback webhook http dnspod dnspod_cn cloudflare namesilo noip no-ip noip_com he he_net dnspod_com \
            tencentcloud alidns aliesa edgeone huaweidns dnscom 51dns west 35cn cloudns debug print",
        ),
        (
            PeerClient::OpenWrt,
            "all-inkl.com changeip.com core-networks.de dnsomatic.com dondominio.com dyn.com dyndns.org dynu.com \
            easydns.com goip.de infomaniak.com inwx.de joker.com loopia.se luadns.com-v1 mythic-beasts.com-v2 no-ip.com \
            now-dns.com opendns.com ovh.com selfhost.de servercow.de simply.com strato.com variomedia.de ydns.io zoneedit.com \
            cloudflare.com-v4 digitalocean.com-v2 hetzner.cloud namesilo.com-v1 dnspod.cn godaddy.com-v1 porkbun.com-v3 pdns \
            scaleway.com namecheap.com duckdns.org dynv6.com desec.io regfish.de spdyn.de ipv64.net he.net njal.la moniker.com \
            nsupdate.info dnsmadeeasy.com afraid.org-keyauth afraid.org-v2-token gandi.net ddnss.de afraid.org-basicauth \
            afraid.org-v2-basic aliyun.com dnspod.cn-v3 huaweicloud.com cloud.google.com-v1 route53-v1 transip.nl netcup.com \
            ns1.com beget.com one.com blazingfast.io cnkuai.cn freedns.42.pl bind-nsupdate google.com",
        ),
    ];
    for (peer, names) in lists {
        let known: BTreeSet<&str> = peer.table().services().collect();
        for name in names.split_whitespace() {
            assert!(known.contains(name), "{peer:?}: {name}");
        }
    }
}

#[test]
fn l4_the_format_follows_from_the_contents() {
    let cases = [
        (r#"{"settings": []}"#, PeerClient::DdnsUpdater),
        (r#"{"dns": "alidns"}"#, PeerClient::NewFuture),
        ("{'dns': 'callback', 'id': None}", PeerClient::NewFuture),
        (r#"{"providers": [{"provider": "callback"}, {"provider": "he"}]}"#, PeerClient::NewFuture),
        ("# c\ndnsconf:\n", PeerClient::DdnsGo),
        ("ipv4:\n  enable: true\ndns:\n  name: x\n", PeerClient::DdnsGo),
        ("config service 'x'\n", PeerClient::OpenWrt),
        ("c service\n", PeerClient::OpenWrt),
        ("provider dyndns.org:1 {\n}", PeerClient::Inadyn),
        ("custom x {", PeerClient::Inadyn),
        ("CF_API_TOKEN=x\nIP4_DOMAINS=a.example", PeerClient::CloudflareDdns),
        ("export CONFIG={}", PeerClient::DdnsUpdater),
        ("DDNS_DNS=he\n", PeerClient::NewFuture),
        ("use=web\na.example", PeerClient::Ddclient),
        ("\u{feff}protocol=noip a.example", PeerClient::Ddclient),
    ];
    for (text, peer) in cases {
        assert_eq!(detected(text), Detected::Other(peer), "{text}");
    }
    assert_eq!(detected(r#"{"dns": "callback", "id": "https://h.example/"}"#), Detected::Own);
    assert_eq!(detected(r#"{"providers": [{"provider": "callback"}]}"#), Detected::Own);
    for text in
        ["", "hello", "{", "[1]", "# use=web", "services:\n  x:\n    image: y\n", "dyndns_system default@dyndns.org\n"]
    {
        assert!(matches!(detected(text), Detected::Unknown(_)), "{text}");
    }
    let two = detected("config service 'x'\nDDNS_DNS=he\n");
    assert!(matches!(&two, Detected::Unknown(why) if why.contains("--from")), "{two:?}");
}

#[test]
fn l7_yaml_as_ddns_go_writes_it_and_nothing_else() {
    let value = yaml::parse(
        "a: 0123\nb:\n- x\n- 'it''s # y' # c\nc:\n    - k: \"q\\\"\\u00e9\"\n      l: |-\n        one\n          two\n    -\n      k: z # no\nd: []\n",
    );
    let text = crate::text::json::pretty(&value.expect("YAML").value).replace(['\n', ' '], "");
    assert_eq!(
        text,
        r#"{"a":"0123","b":["x","it's#y"],"c":[{"k":"q\"é","l":"one\ntwo"},{"k":"z"}],"d":null}"#.replace(' ', "")
    );
    for (text, line) in [
        ("a: 1\n  b: 2\n", 2),
        ("a: [x, y]\n", 1),
        ("a: &x y\n", 1),
        ("a\n", 1),
        ("a: \"x\n", 1),
        ("- a\nb: c\n", 2),
        ("a: *b", 1),
    ] {
        assert_eq!(yaml::parse(text).expect_err(text).line, line, "{text:?}");
    }
    let deep = (0..60).map(|depth| " ".repeat(depth) + "a:").collect::<Vec<_>>().join("\n");
    assert!(yaml::parse(&deep).is_err());
}

#[test]
fn l8_ddns_go_elements_become_entries() {
    let element = |name: &str, domains: &str, more: &str| {
        format!(
            "dnsconf:\n  - ipv4:\n      enable: true\n      gettype: url\n      url: https://4.ipw.cn, https://ip.example/\n      domains:\n{domains}\
             \n    dns:\n      name: {name}\n      id: AKIDxxxxxxxxxx\n      secret: s\n{more}"
        )
    };
    let two = read(
        PeerClient::DdnsGo,
        &element("alidns", "        - www.a.example.co.uk\n        - x:b.example\n        - ''\n", "    ttl: \"60\"\n"),
    );
    let expected = [
        "alidns www.a.example.co.uk:A public,url:https://ip.example/",
        "alidns x.b.example:A public,url:https://ip.example/",
    ];
    assert_eq!(shown(&two), expected);
    assert_eq!(written(&two)[0].1.member("zone").and_then(Value::text), Some("example.co.uk"));
    assert_eq!((two.entries[0].guess.is_some(), two.entries[1].guess.is_some()), (true, false));
    assert_eq!(notes(&two, NotePart::Dropped), ["15 ttl"]);
    let off = read(
        PeerClient::DdnsGo,
        &element("cloudflare", "        - a.example.com\n", "    ipv6:\n      enable: false\n      domains: [ ]\n")
            .replace("[ ]", "[]"),
    );
    assert_eq!(shown(&off), ["cloudflare a.example.com:A public,url:https://ip.example/"]);
    let old = read(
        PeerClient::DdnsGo,
        "ipv4:\n  enable: yes\n  gettype: cmd\n  cmd: get ip\n  domains:\n  - a.example.com\ndns:\n  name: dynadot\n  secret: s\n",
    );
    assert_eq!(shown(&old), ["dynadot a.example.com:A shell:get ip"]);
    let lines = "        - www.example.com?Line=tele%20com&RecordId=1\n        - b.example.com\n";
    let lines = read(PeerClient::DdnsGo, &element("alidns", lines, ""));
    let line = |at: usize| written(&lines)[at].1.member("line").and_then(Value::text).map(str::to_owned);
    assert_eq!((line(0).as_deref(), line(1).as_deref()), (Some("tele com"), Some("default")));
    assert_eq!(notes(&lines, NotePart::Dropped), ["2 www.example.com?RecordId"]);
    let below = read(PeerClient::DdnsGo, &element("dynv6", "        - a.b.dynv6.net\n        - z.dynv6.net\n", ""));
    assert_eq!(shown(&below), ["dynv6 z.dynv6.net:A public,url:https://ip.example/"]);
    assert_eq!(notes(&below, NotePart::LeftOut), ["2 dynv6 (a.b.dynv6.net)"]);
}

#[test]
fn l8_a_callback_of_ddns_go_keeps_its_request() {
    let hook = |id: &str, secret: &str| {
        format!(
            "dnsconf:\n- ipv4:\n    enable: true\n    gettype: netInterface\n    netinterface: eth0\n    domains:\n    - a.example?zone-id=7%2B8\n  dns:\n    name: callback\n    id: {id}\n    secret: '{secret}'\n"
        )
    };
    let json = read(
        PeerClient::DdnsGo,
        &hook("https://h.example/?i=#{ip}&z=#{zone-id}", r##"{"t": #{ttl}, "r": "#{recordType}"}"##),
    );
    let entry = &written(&json)[0].1;
    assert_eq!(entry.member("id").and_then(Value::text), Some("https://h.example/?i=__IP__&z=__P_ZONE_ID__"));
    assert_eq!(entry.member("token").and_then(Value::text), Some(r#"{"t": __TTL__, "r": "__RECORDTYPE__"}"#));
    assert_eq!(entry.member("ttl"), Some(&Value::Number("600".to_owned())));
    let Some(Value::Array(domains)) = entry.member("ipv4") else { panic!("{entry:?}") };
    let own = domains[0].value.member("extra").and_then(|own| own.member("__P_ZONE_ID__"));
    assert_eq!(own.and_then(Value::text), Some("7+8"));
    let form = read(PeerClient::DdnsGo, &hook("https://h.example/", "ip=#{ip}&d=#{domain}"));
    assert_eq!(written(&form)[0].1.member("format").and_then(Value::text), Some("form"));
    let none = read(PeerClient::DdnsGo, &hook("https://h.example/?t=#{timestamp}", ""));
    assert!(none.entries.is_empty());
    assert_eq!(notes(&none, NotePart::LeftOut), ["2 callback"]);
}

#[test]
fn l8_ddns_updater_settings_become_entries() {
    let one = |setting: &str| format!("{{\"settings\": [{{{setting}, \"ip_version\": \"ipv4\"}}]}}");
    let cases = [
        (
            r#""provider": "namecheap", "domain": "example.com", "host": "@,www", "password": "p""#,
            "namecheap example.com:A www.example.com:A public",
        ),
        (
            r#""provider": "route53", "domain": "a.example.com", "access_key": "AKIA0123456789012", "secret_key": "s", "zone_id": "Z123", "ttl": 300"#,
            "route53 a.example.com:A public",
        ),
        (
            r#""provider": "ovh", "mode": "api", "domain": "a.example.com", "app_key": "k", "app_secret": "s", "consumer_key": "c""#,
            "ovh-api a.example.com:A public",
        ),
        (
            r#""provider": "ovh", "domain": "a.example.com", "username": "u", "password": "s""#,
            "ovh a.example.com:A public",
        ),
        (r#""provider": "strato", "domain": "a.example.com", "password": "s""#, "strato a.example.com:A public"),
        (
            r#""provider": "he", "domain": "a.example.com,b.example.com", "password": "s""#,
            "he-net a.example.com:A b.example.com:A public",
        ),
        (
            r#""provider": "custom", "domain": "a.example.com", "url": "https://h.example/u?k=1", "ipv4key": "ip""#,
            "- a.example.com:A public",
        ),
    ];
    for (setting, expected) in cases {
        assert_eq!(shown(&read(PeerClient::DdnsUpdater, &one(setting))), [expected], "{setting}");
    }
    let suffix = read(
        PeerClient::DdnsUpdater,
        r#"{"settings": [{"provider": "desec", "domain": "a.dedyn.io", "token": "t", "ip_version": "IPv6", "ipv6_suffix": "2001:db8::72ad:8fbb:a54e:bedd/64"}]}"#,
    );
    let text = crate::text::json::pretty(&written(&suffix)[0].1);
    assert!(text.contains("\"interface_id\": \"::72ad:8fbb:a54e:bedd/64\""), "{text}");
    let either = read(
        PeerClient::DdnsUpdater,
        r#"{"settings": [{"provider": "dynv6", "domain": "a.dynv6.net", "token": "t"}]}"#,
    );
    assert_eq!(shown(&either), ["dynv6 a.dynv6.net:A public"], "no family is added");
    assert_eq!(notes(&either, NotePart::Changed), ["1 ip_version of a.dynv6.net"]);
    let old = read(
        PeerClient::DdnsUpdater,
        &one(r#""provider": "cloudflare", "domain": "a.example.com", "key": "k", "email": "e""#),
    );
    assert_eq!(notes(&old, NotePart::LeftOut), ["1 cloudflare (a.example.com)"]);
    let variables = "PERIOD=90s\nUPDATE_COOLDOWN_PERIOD=10m\nPUBLICIPV4_HTTP_PROVIDERS=url:https://ip.example/x,ipify\n\
        HEALTH_HEALTHCHECKSIO_UUID=01234567-0123-0123-0123-0123456789ab\n\
        CONFIG='{\"settings\": [{\"provider\": \"dynv6\", \"domain\": \"a.dynv6.net\", \"token\": \"t\", \"ip_version\": \"ipv4\"}]}'\n";
    let import = read(PeerClient::DdnsUpdater, variables);
    assert_eq!(shown(&import), ["dynv6 a.dynv6.net:A url:https://ip.example/x,public"]);
    let entry = &written(&import)[0].1;
    let text = |name: &str| entry.member(name).and_then(Value::text).unwrap_or_default();
    assert_eq!((text("interval"), text("min_interval"), entry.member("notify").is_some()), ("90s", "10m", true));
    assert_eq!(notes(&import, NotePart::Dropped), Vec::<String>::new());
}

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
    let off = read(
        PeerClient::CloudflareDdns,
        "CF_API_TOKEN=t\nDOMAINS=a.example.org\nIP6_PROVIDER=none\nUPDATE_CRON=@once\n",
    );
    assert_eq!(shown(&off), ["cloudflare a.example.org:A public"]);
    assert!(off.settings.is_empty(), "{:?}", off.settings);
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
fn l8_a_service_that_is_told_a_label_gets_that_of_each_name() {
    let label = |import: &Import, name: &str| {
        written(import).iter().map(|(_, value)| extra(value, name).to_owned()).collect::<Vec<_>>()
    };
    let account = r#""provider": "opendns", "username": "ou", "password": "op", "ip_version": "ipv4""#;
    let cases: [(&str, &[&str]); 3] = [
        (r#""domain": "net.example.com", "host": "home,work""#, &["home.net.example.com", "work.net.example.com"]),
        (r#""domain": "a.example.com,b.example.com""#, &["a.example.com", "b.example.com"]),
        (r#""domain": "@.example.org""#, &["example.org"]),
    ];
    for (names, expected) in cases {
        let import = read(PeerClient::DdnsUpdater, &format!("{{\"settings\": [{{{account}, {names}}}]}}"));
        assert_eq!(label(&import, "__NETWORK__"), expected, "{names}");
    }
    let inadyn = |service: &str, names: &str| {
        let text = format!("provider {service} {{ username = u password = p hostname = {{ {names} }} }}");
        read(PeerClient::Inadyn, &text)
    };
    assert_eq!(label(&inadyn("opendns.com", "\"Home\", \"Office\""), "__NETWORK__"), ["Home", "Office"]);
    assert_eq!(label(&inadyn("tunnelbroker.net", "123, 456"), "__TUNNEL__"), ["123", "456"]);
    let records = crate::text::json::pretty(&written(&inadyn("dnsmadeeasy.com", "123, 456"))[0].1);
    assert!(
        records.contains(r#""__RECORD_ID__": "123""#) && records.contains(r#""__RECORD_ID__": "456""#),
        "{records}"
    );
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

#[test]
fn l8_newfuture_entries_of_any_provider() {
    let cases = [
        (
            r#"{"dns": "HE", "token": "k", "ipv4": "a.example.org,b.example.org", "index4": "url:https://x.example/?a,b"}"#,
            "he-net a.example.org:A b.example.org:A url:https://x.example/?a,b",
        ),
        (
            r#"{"dns": "tencentcloud", "id": "AKIDxxxxxxxx", "token": "s", "ipv6": ["w~example.org"], "index6": ["regex:2001.*", "public"]}"#,
            "tencentcloud w.example.org:AAAA regex:2001.*,public",
        ),
        (
            "{'dns': 'namesilo', 'token': 'k\\'x', 'ipv4': ('a.example.org',), 'index4': 0, 'debug': True, # c\n}",
            "namesilo a.example.org:A 0",
        ),
        (
            "DDNS_DNS=cloudflare\nDDNS_TOKEN=t\nDDNS_IPV4=[\"a.example.org\", \"b.example.org\"]\nDDNS_CRON=*/9 * * * *\n",
            "cloudflare a.example.org:A b.example.org:A",
        ),
        (
            r#"{"dns": "webhook", "id": "https://h.example/?i=__IP__", "token": {"a": "__DOMAIN__"}, "ipv4": ["a.example.org"], "ipv6": ["a.example.org"], "index6": false}"#,
            "- a.example.org:A",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(&read(PeerClient::NewFuture, text)), [expected], "{text}");
    }
    let two = read(
        PeerClient::NewFuture,
        r#"{"ssl": false, "log": {"level": "DEBUG"}, "providers": [
            {"provider": "alidns", "id": "LTAIxxxxxx", "token": "s", "ipv4": ["a+example.org"], "ttl": 60},
            {"provider": "cloudflare", "id": "me@example.org", "token": "k", "ipv4": ["b.example.org"]}]}"#,
    );
    assert_eq!(shown(&two), ["alidns a.example.org:A"]);
    assert_eq!(notes(&two, NotePart::LeftOut), ["3 cloudflare (b.example.org)"]);
    assert_eq!(notes(&two, NotePart::Dropped), ["2 ttl"]);
    let text = two.document(&[0], None, "x").expect("a configuration").text;
    assert!(text.contains("\"ssl\": false") && text.contains("\"level\": \"DEBUG\""), "{text}");
    let cron = read(
        PeerClient::NewFuture,
        "DDNS_DNS=cloudflare\nDDNS_TOKEN=t\nDDNS_IPV4=a.example.org\nDDNS_CRON=*/9 * * * *\n",
    );
    assert_eq!(cron.settings, [("interval".to_owned(), Value::string("9m"))]);
}

#[test]
fn l8_several_entries_stand_in_providers_with_their_secrets_in_folders() {
    let import = read(
        PeerClient::Ddclient,
        "usev4=webv4\nprotocol=easydns, login=u, password=p1 a.example\nprotocol=ovh, login=u, password=p2 b.example\n",
    );
    let filled = import.document(&[0, 1], Some("/f"), "x").expect("a configuration");
    let root = parse(&filled.text, Dialect::CONFIG).expect("JSON").value;
    assert!(matches!(root.member("providers"), Some(Value::Array(items)) if items.len() == 2), "{}", filled.text);
    assert_eq!(
        filled.secrets,
        [("/f/1/password".to_owned(), "p1".to_owned()), ("/f/2/password".to_owned(), "p2".to_owned())]
    );
    assert!(!filled.text.contains("p1"), "{}", filled.text);
}

#[test]
fn l8_both_families_of_a_host_stay_in_one_entry() {
    let text = "usev4=webv4, usev6=ifv6\nprotocol=dyndns2, login=u, password=p\n\
                ifv6=eth0 a.dyndns.org\nifv6=eth1 b.dyndns.org\n";
    let import = read(PeerClient::Ddclient, text);
    let counts: Vec<[usize; 2]> = import.entries.iter().map(|entry| [0, 1].map(|it| entry.domains[it].len())).collect();
    assert_eq!(counts, [[1, 1], [1, 1]]);
}

#[test]
fn l8_a_source_keeps_its_last_letter() {
    for source in ["shell:ip route get 8.8.8.8 | awk '{print $7}'", "regex:2409:.*[0-9a-f]"] {
        let text = format!(
            r#"{{"dns": "callback", "id": "https://h.example/__IP__", "ipv4": ["a.example"], "index4": ["{source}"]}}"#
        );
        let import = read(PeerClient::NewFuture, &text);
        assert_eq!(import.entries.len(), 1, "{source}");
        let text = import.document(&[0], None, "file").expect("a configuration").text;
        assert!(text.contains(source), "{source}: {text}");
    }
}

#[test]
fn l17_a_file_says_nothing_in_the_words_of_the_tables() {
    let text = "config service 'x'\n option enabled '1'\n option service_name 'duckdns.org'\n option domain 'a.duckdns.org'\n \
                option password 't'\n option .most '10'\n option .cache '/etc/passwd'\n";
    assert!(written_one(&read(PeerClient::OpenWrt, text)).member("cache").is_none());
}

#[test]
fn l12_answers_are_missing_wrong_or_given() {
    let mut import = read(PeerClient::Inadyn, "provider no-ip.com { username = u password = p hostname = a.example }");
    let missing = |import: &Import| {
        import.entries[0].missing().expect("a form").into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(missing(&import), ["contact"]);
    assert!(import.entries[0].answer("contact", "nobody").is_err());
    import.entries[0].answer("contact", "me@example.org").expect("an answer");
    assert_eq!(missing(&import), Vec::<String>::new());
    let wrong =
        read(PeerClient::NewFuture, r#"{"dns": "alidns", "id": "x", "token": "s3cret", "ipv4": "a.example.org"}"#);
    let missing = wrong.entries[0].missing().expect("a form");
    assert!(missing[0].name == "id" && missing[0].refused.is_some() && !missing[0].secret);
    let left = [Some("why".to_owned())];
    let [taken, _, not_taken] = rows(&wrong, &left);
    assert_eq!((taken.len(), not_taken[0].entry, not_taken[0].part), (0, Some(1), NotePart::LeftOut));
}

#[test]
fn l17_there_are_limits() {
    let hosts = |count: usize| (0..count).map(|number| format!("h{number}.example")).collect::<Vec<_>>().join(",");
    let text = |count| format!("usev4=webv4\nprotocol=he.net, password=p {}\n", hosts(count));
    let import = read(PeerClient::Ddclient, &text(10_000));
    assert_eq!((import.entries.len(), import.entries[0].missing().expect("a form").len()), (1, 0));
    assert!(try_read(PeerClient::Ddclient, &text(10_001)).is_err_and(|error| error.message.contains("10000 at most")));
    let host = |number: usize| format!("protocol=easydns, login=u{number}, password=p h{number}.example");
    let entries = (0..1001).map(host).collect::<Vec<_>>().join("\n");
    assert!(try_read(PeerClient::Ddclient, &format!("usev4=webv4\n{entries}")).is_err());
}

#[test]
fn durations_schedules_pages_and_flags() {
    for (text, expected) in [
        ("300", Some(300)),
        ("5m", Some(300)),
        ("1h30m", Some(5400)),
        ("25d", Some(2_160_000)),
        ("inf", None),
        ("", None),
        ("9999999999999999999d", None),
    ] {
        assert_eq!(seconds(text), expected, "{text}");
    }
    for (text, expected) in
        [("@every 90s", Some("90s")), ("*/5 * * * *", Some("5m")), ("0 * * * *", None), ("@once", None)]
    {
        let text = format!("DDNS_DNS=he\nDDNS_TOKEN=k\nDDNS_IPV4=a.example\nDDNS_CRON={text}\n");
        let settings = read(PeerClient::NewFuture, &text).settings;
        assert_eq!(settings.first().and_then(|(_, every)| every.text()), expected, "{text}");
    }
    assert_eq!(page("https://api.ipify.org/?format=json"), "public");
    assert_eq!(page("http://[::1]:80/x"), "url:http://[::1]:80/x");
    assert_eq!((is_yes(" Yes "), is_yes("0"), is_yes("b")), (true, false, false));
    let table = PeerTable("x ?a~b one\nx two q=v\ny - none\n: s=1|2 why\n");
    assert!(matches!(table.row("X", &|_| Some("aBc".to_owned())), Some(ServiceRow::Recipe("one", _))));
    assert!(matches!(table.row("x", &|_| None), Some(ServiceRow::Recipe("two", answers)) if answers == [("q", "v")]));
    assert_eq!(
        (table.why_not("s", "2"), table.why_not("s", "3"), table.why_not("t", "3")),
        (Some(""), Some("why"), None)
    );
}

/// What fuzzing begins with, cut and bent.
#[test]
fn l17_no_text_makes_it_panic() {
    let seeds = [
        include_str!("../../../../fuzz/corpus/import/seed-ddclient"),
        include_str!("../../../../fuzz/corpus/import/seed-inadyn"),
        include_str!("../../../../fuzz/corpus/import/seed-ddns-go"),
        include_str!("../../../../fuzz/corpus/import/seed-ddns-updater"),
        include_str!("../../../../fuzz/corpus/import/seed-cloudflare-ddns"),
        include_str!("../../../../fuzz/corpus/import/seed-newfuture"),
        include_str!("../../../../fuzz/corpus/import/seed-openwrt"),
    ];
    for (client, seed) in PeerClient::ALL.into_iter().zip(seeds) {
        let letters: Vec<char> = seed.chars().skip(1).collect();
        assert!(!read(client, &letters.iter().collect::<String>()).entries.is_empty(), "{client:?}");
        for place in (0..letters.len()).step_by(11) {
            let cut: String = letters[..place].iter().collect();
            let strange = ['\'', '"', '{', '}', '\\', '\n', '=', '#', 'é', '\0'][place % 10];
            let bent: String =
                letters.iter().enumerate().map(|(at, letter)| if at == place { strange } else { *letter }).collect();
            for text in [cut, bent] {
                let _ = detected(&text);
                let Ok(import) = try_read(client, &text) else { continue };
                let all: Vec<usize> = (0..import.entries.len()).collect();
                let _ = import.document(&all, Some("/f"), "x");
            }
        }
    }
}
