//! `web`: the page of a service (I1, I2). [`crate::web`] decides whether a page with these settings may be opened.

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

/// The default address of the page.
pub const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

const PORT: u16 = 9876;

/// The page of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// Whether a file sets `web`, not only options and environment.
    pub is_in_file: bool,
    /// `listen`
    pub listen: SocketAddr,
    /// `password_file`: a hash made by `ddns password`.
    pub password: Option<SecretFile>,
    /// `token_file`: the bearer token that programs send.
    pub token: Option<SecretFile>,
    /// `allow_edit`: whether the page may change the configuration.
    pub allow_edit: bool,
    /// `hosts`: other host names under which a browser may open the page; in lower case.
    pub hosts: Vec<String>,
    /// `proxies`: the reverse proxies whose `X-Forwarded-…` headers count.
    pub proxies: Vec<Network>,
    /// `certificate`: PEM, the certificate chain of the page.
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

/// A file of `web`, as read. Only a service checks its content, because a single run does not need it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Its path, as written.
    pub path: String,
    /// What messages call the file.
    pub shown: String,
    /// Its text, or why there is none: a phrase that follows the path.
    pub text: Result<String, String>,
}

impl fmt::Debug for SecretFile {
    /// Does not show the text, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// `web`; `None` if it is not set or switched off. `true` and an address leave everything else to the lower layers, so
/// that `--web` does not remove a password.
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
    // A template may have had nothing to fill in: then the page must not open without its password.
    if let Some(member) = of.members.iter().find(|member| member.key == name && member.node.value == Value::Null) {
        let message = format!("`{}.{name}` must be the path of a file", of.name);
        of.reader.wrong(Key::Web, member.node.span, message, "");
    }
    let path = of.path(name, "set `web` with an option or in the environment")?;
    Some(SecretFile { path: path.to_owned(), shown: files.shown(path), text: files.text(path) })
}

/// A name that may appear in a `Host` header.
fn host(text: &str) -> Option<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    (!text.is_empty() && text.chars().all(is_name)).then(|| text.to_ascii_lowercase())
}
