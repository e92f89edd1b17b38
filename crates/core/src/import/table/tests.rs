//! Compares the tables with the recipes, and with the providers of each client.

use std::collections::BTreeSet;

use super::ServiceRow;
use crate::import::PeerClient;
use crate::recipe;

#[test]
fn l18_every_recipe_and_question_of_the_tables_exists() {
    for peer in PeerClient::ALL {
        let table = peer.table();
        assert!(peer.stop().next().is_some(), "{peer:?}");
        let count = |row: &str| if row.contains("<n>") { 2 } else { 1 };
        assert_eq!(
            table.meanings().len(),
            table.lines("> ").map(count).sum::<usize>(),
            "{peer:?}: each row is understood"
        );
        let everywhere: BTreeSet<&str> =
            table.0.lines().filter_map(|line| line.strip_prefix("* ")).flat_map(|line| line.split(' ')).collect();
        for line in table.0.lines().filter(|line| !line.starts_with(['~', '*', ':', '!', '#', '>', '%', '@', '&'])) {
            let (names, _) = line.split_once(' ').expect("names");
            for name in names.split(',') {
                // With and without the fields in guards.
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
