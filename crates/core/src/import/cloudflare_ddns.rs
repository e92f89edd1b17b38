//! Reads the variables of favonia/cloudflare-ddns.

use std::net::Ipv6Addr;

use super::cursor::TextCursor;
use super::settings::{PeerError, PeerFile, PeerInput};
use super::variables;
use crate::recipe::IN_FILE;
use crate::text::hex;

#[cfg(test)]
mod tests;

pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let mut variables = variables::parse(input.text, file)?;
    let names = ["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "CLOUDFLARE_API_TOKEN_FILE", "CF_API_TOKEN_FILE"];
    let line = names.iter().map(|name| variables.line(name)).find(|line| *line > 0).unwrap_or(0);
    // A token in a file stays there (L13).
    let mark = |name: &&str| if name.ends_with("_FILE") { IN_FILE } else { "" };
    let value = |name: &&str| variables.get(name).map(|value| format!("{}{value}", mark(name)));
    let mut tokens: Vec<String> = names.iter().filter_map(value).collect();
    tokens.dedup();
    if tokens.len() > 1 {
        return Err(PeerError::new(line, "the token is set in two ways that differ"));
    }
    variables.give("token", tokens.pop().unwrap_or_default());
    for name in ["DOMAINS", "IP4_DOMAINS", "IP6_DOMAINS"] {
        if let Some(list) = variables.find(name).cloned() {
            variables.set(name, domains(&list.value, list.line, file), list.line);
        }
    }
    file.add(line, variables);
    Ok(())
}

/// A list of names, separated by commas. favonia/cloudflare-ddns allows missing and extra commas. A name may have `{hostid6=…}`
/// after it.
fn domains(list: &str, line: usize, file: &mut PeerFile) -> String {
    let (mut at, mut all) = (TextCursor::new(list), Vec::new());
    loop {
        at.take_while(|letter| letter.is_whitespace() || letter == ',');
        let name = at.take_while(|letter| !letter.is_whitespace() && !",{".contains(letter));
        if name.is_empty() {
            return all.join(",");
        }
        let name = name.trim_end_matches('.');
        let mut own = name.to_owned();
        if at.rest.trim_start().starts_with('{') {
            let option = at.skip_behind("}").trim().trim_matches(['{', '}']);
            let id = option.split_once('=').filter(|(key, _)| key.trim() == "hostid6").map(|(_, id)| id.trim());
            match id.map(|id| (id, host_id(id))) {
                Some((_, Some(id))) => own += &format!(";{id}"),
                Some(("preserve", _)) => {}
                _ => {
                    file.left_out(line, name, "ddns takes one host id for a domain (`interface_id`)");
                    continue;
                }
            }
        }
        all.push(own);
    }
}

/// An interface id, which may be made from a hardware address: `mac(…)`.
fn host_id(text: &str) -> Option<String> {
    let Some(mac) = text.strip_prefix("mac(").and_then(|rest| rest.strip_suffix(')')) else {
        return text.parse::<Ipv6Addr>().ok().map(|id| id.to_string());
    };
    let bytes = hex::bytes(&mac.replace(['-', ':'], ""))?;
    let (&[first, second, third], rest) = bytes.split_first_chunk()?;
    let id = [&[0; 8][..], &[first ^ 2, second, third, 0xff, 0xfe], rest].concat();
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(id).ok()?).to_string())
}
