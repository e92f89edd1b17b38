//! `web`: the page of a service (I1, I2). Whether what is written here may be opened is decided in [`crate::web`].

mod push;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use super::fields::{Field, Key};
use super::files::FileContents;
use super::layers::Layers;
use super::parts::PartReader;
use super::raw::{Origin, Raw};
use super::read::SettingReader;
use super::value::flag;
use crate::net::listen::listen_address;
use crate::net::network::Network;
use crate::text::json::{Node, Value};

pub use push::PushRule;
use push::pushes;

/// Where the page is unless another place is named.
pub const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

const PORT: u16 = 9876;

/// The page of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// Whether a file says something about it, not options and environment alone.
    pub is_in_file: bool,
    /// `listen`
    pub listen: SocketAddr,
    /// `password_file`: the hash that `ddns password` made.
    pub password: Option<SecretFile>,
    /// `token_file`: what programs send as a bearer token.
    pub token: Option<SecretFile>,
    /// `allow_edit`: whether recipes may be added to a configuration on the page.
    pub allow_edit: bool,
    /// `hosts`: further names of the page, as a browser knows them; in lower case.
    pub hosts: Vec<String>,
    /// `proxies`: whose `X-Forwarded-…` counts.
    pub proxies: Vec<Network>,
    /// `certificate`: PEM, the chain of the page.
    pub certificate: Option<SecretFile>,
    /// `key`: PEM, the private key of the certificate.
    pub key: Option<SecretFile>,
    /// `push`: who may push an address (F10).
    pub push: Vec<PushRule>,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            is_in_file: false,
            listen: DEFAULT,
            password: None,
            token: None,
            allow_edit: false,
            hosts: Vec::new(),
            proxies: Vec::new(),
            certificate: None,
            key: None,
            push: Vec::new(),
        }
    }
}

/// What a file of `web` holds, as it was read. Only a service judges it: a single run needs none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// The file, as it was written.
    pub path: String,
    /// The file in a message.
    pub shown: String,
    /// Its text, or why there is none: a phrase that follows the path.
    pub text: Result<String, String>,
}

impl fmt::Debug for SecretFile {
    /// The text is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// `web`; `None` if it is not set or switched off. `true` and an address leave the rest to the layers below, so that
/// `--web` does not take a password away.
pub(super) fn web(reader: &mut SettingReader<'_>, files: &FileContents) -> Option<Web> {
    let layers: Vec<&Raw> = reader.layers.0.clone();
    let (mut listen, mut is_on, mut is_in_file) = (None, false, false);
    for layer in layers {
        let Some(setting) = layer.written(Key::Web) else { continue };
        let mut reader = SettingReader { layers: Layers(vec![layer]), diagnostics: &mut *reader.diagnostics };
        match &setting.node.value {
            Value::Null | Value::Bool(false) => break,
            Value::String(text) if flag(text) == Some(false) => break,
            Value::Bool(true) => {}
            Value::String(text) if text.trim().is_empty() => continue,
            Value::String(text) if flag(text) == Some(true) => {}
            Value::String(text) if !text.trim_start().starts_with('{') => {
                let Some(address) = listen_address(text, PORT) else {
                    let message = format!("`web` must be {}, not `{text}`", Field::of(Key::Web).allowed);
                    let hint = "such as 127.0.0.1:9876, [::1]:9876, or a port alone";
                    reader.wrong_whole(Key::Web, message, hint);
                    return None;
                };
                listen = listen.or(Some(address));
            }
            _ => {
                let node = reader.object(Key::Web)?;
                let web = read(&mut reader, &node, files);
                let is_in_file = is_in_file || matches!(setting.origin, Origin::File(_));
                return Some(Web { listen: listen.unwrap_or(web.listen), is_in_file, ..web });
            }
        }
        is_on = true;
        is_in_file |= matches!(setting.origin, Origin::File(_));
    }
    is_on.then(|| Web { listen: listen.unwrap_or(DEFAULT), is_in_file, ..Web::default() })
}

fn read(reader: &mut SettingReader<'_>, node: &Node, files: &FileContents) -> Web {
    let mut of = PartReader::new(reader, Key::Web, node.value.members().unwrap_or_default());
    of.refuse_unknown(|_| None);
    let must = ["an address of this host", "such as 127.0.0.1:9876"];
    let listen = of.part("listen", |node| listen_address(node.value.text()?, PORT), must);
    let names = ["password_file", "token_file", "certificate", "key"];
    let [password, token, certificate, key] = names.map(|name| secret_file(&mut of, name, files));
    let web = Web {
        is_in_file: false,
        listen: listen.unwrap_or(DEFAULT),
        password,
        token,
        allow_edit: of.flag("allow_edit").unwrap_or_default(),
        hosts: of.list("hosts", "a host name, without a port", host),
        proxies: of.list("proxies", "an address or a network", Network::parse),
        certificate,
        key,
        push: pushes(&mut of, files),
    };
    if web.certificate.is_some() != web.key.is_some() {
        let message = "`web.certificate` and `web.key` belong together: one of them is missing";
        reader.wrong_whole(Key::Web, message, "");
    }
    web
}

fn secret_file(of: &mut PartReader<'_, '_, '_>, name: &str, files: &FileContents) -> Option<SecretFile> {
    // Where a template had nothing to fill in, the page must not open.
    if let Some(member) = of.members.iter().find(|member| member.key == name && member.node.value == Value::Null) {
        let message = format!("`{}.{name}` must be the path of a file", of.name);
        of.reader.wrong(Key::Web, member.node.span, message, "");
    }
    let path = of.path(name, "set `web` with an option or in the environment")?;
    Some(SecretFile { path: path.to_owned(), shown: files.shown(path), text: files.text(path) })
}

/// A name that may stand in `Host`.
fn host(text: &str) -> Option<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    (!text.is_empty() && text.chars().all(is_name)).then(|| text.to_ascii_lowercase())
}
