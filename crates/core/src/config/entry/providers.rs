//! What other clients call a service, and what serves it here.

/// Recipes, and the names of their services in other clients.
pub const PROVIDERS: &[(&str, &[&str])] = &[
    ("alidns", &["alidns", "aliyun"]),
    ("aliesa", &["aliesa", "esa"]),
    ("all-inkl", &["allinkl"]),
    ("bunny", &["bunny"]),
    ("changeip", &["changeip"]),
    ("cloudflare", &["cloudflare"]),
    ("cloudns-api", &["cloudns"]),
    ("ddnss", &["ddnss"]),
    ("desec-api", &["desec"]),
    ("digitalocean", &["digitalocean"]),
    ("dnsla", &["dnsla"]),
    ("dnsomatic", &["dnsomatic"]),
    ("dnspod", &["dnspod", "dnspod_cn"]),
    ("dnspod-global", &["dnspod_com", "dnspod_global"]),
    ("domeneshop", &["domeneshop"]),
    ("dondominio", &["dondominio"]),
    ("dreamhost", &["dreamhost"]),
    ("duckdns", &["duckdns"]),
    ("dyn", &["dyn"]),
    ("dynadot", &["dynadot"]),
    ("dynu", &["dynu"]),
    ("dynv6", &["dynv6"]),
    ("easydns", &["easydns"]),
    ("edgeone", &["edgeone", "edgeone_acc", "teo", "teo_acc"]),
    ("edgeone-dns", &["edgeone_dns", "edgeone_noacc", "teo_dns"]),
    ("freedns-v2", &["freedns"]),
    ("gandi", &["gandi"]),
    ("gcore", &["gcore"]),
    ("gigahost", &["gigahostno"]),
    ("godaddy", &["godaddy"]),
    ("goip", &["goip"]),
    ("google-cloud-dns", &["gcp"]),
    ("he-net", &["he", "he_net"]),
    ("hetzner-cloud", &["hetzner", "hetznercloud"]),
    ("hostinger", &["hostinger"]),
    ("huaweidns", &["huaweidns", "huawei", "huaweicloud"]),
    ("infomaniak", &["infomaniak"]),
    ("inwx", &["inwx"]),
    ("ionos", &["ionos"]),
    ("ipv64", &["ipv64"]),
    ("key-systems", &["dd24"]),
    ("linode", &["linode"]),
    ("loopia", &["loopia"]),
    ("luadns", &["luadns"]),
    ("myaddr", &["myaddr"]),
    ("name-com", &["name_com", "name.com"]),
    ("namecheap", &["namecheap"]),
    ("namesilo", &["namesilo", "namesilo_com"]),
    ("netcup", &["netcup"]),
    ("njalla", &["njalla"]),
    ("no-ip", &["noip", "no-ip", "noip_com"]),
    ("now-dns", &["nowdns"]),
    ("ns1", &["nsone"]),
    ("opendns", &["opendns"]),
    ("ovh", &["ovh"]),
    ("porkbun", &["porkbun"]),
    ("route53", &["route53"]),
    ("scaleway", &["scaleway"]),
    ("selfhost", &["selfhost.de"]),
    ("servercow", &["servercow"]),
    ("spaceship", &["spaceship"]),
    ("spdyn", &["spdyn"]),
    ("strato", &["strato"]),
    ("tencentcloud", &["tencentcloud", "tencent", "qcloud"]),
    ("variomedia", &["variomedia"]),
    ("vercel", &["vercel"]),
    ("vultr", &["vultr"]),
    ("west", &["west", "west_cn", "35cn"]),
    ("zoneedit", &["zoneedit"]),
];

/// Names without a recipe, and why they have none or need none.
pub const NO_RECIPE: &[(&[&str], &str)] = &[
    (&["webhook", "http", "custom"], "ddns can call any URL: set it to `callback`, and `id` to your URL"),
    (&["debug", "print", "example"], "to send nothing, use `ddns preview`: it shows what would be sent"),
    (
        &["dnscom", "51dns", "dns_com"],
        "it has no recipe: its API wants a kind of signature (MD5) that `sign` does not support",
    ),
    (&["baiducloud"], "it has no recipe yet: `sign` does not support its signatures (bce-auth-v1)"),
    (&["trafficroute"], "it has no recipe yet: `sign` does not support Volcengine's signatures"),
    (
        &["eranet", "nowcn", "tnethk"],
        "it has no recipe: its API wants a kind of signature (HMAC-SHA1 in the query) that `sign` does not support",
    ),
    (&["hipmdnsmgr"], "it has no recipe: its API is not published; `before` and a header with your key can call it"),
    (&["rainyun"], "it has no recipe: its API is not published, and other clients disagree on how it responds"),
];

/// What is said to somebody whose configuration names a service as another client does; `None` if no such name is known.
pub(super) fn way_out(provider: &str) -> Option<String> {
    let is_it = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(provider.trim()));
    if let Some((recipe, _)) = PROVIDERS.iter().find(|(_, names)| is_it(names)) {
        let import = "`ddns import FILE new.json` takes the whole file over";
        return Some(format!("`ddns init --recipe {recipe}` writes a configuration for this service; {import}"));
    }
    NO_RECIPE.iter().find(|(names, _)| is_it(names)).map(|(_, why)| (*why).to_owned())
}
