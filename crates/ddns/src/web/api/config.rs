//! The files of a configuration, without their secrets; and one that is to take their place. What an edit may do is decided in
//! the core.

use ddns_core::text::json::Value;
use ddns_core::web::check::{Finding, has_errors};
use ddns_core::web::edit::{Edit, Judged, can_be_edited, judge, mask};

use super::{error, gone};
use crate::web::reply::{Reply, Request};
use crate::web::save::{self, Refused};
use crate::web::site::{Configured, Site};

/// The name of a file of this host; none where the configuration stands elsewhere.
fn file(configured: &Configured, number: usize) -> Option<&String> {
    configured.file(number).filter(|name| !name.contains("://"))
}

/// Every file.
pub(in crate::web) async fn show(site: &Site) -> Reply {
    let Some(configured) = site.configured().await else { return gone() };
    let names = (0..configured.names.len()).filter_map(|number| Some((number, file(&configured, number)?)));
    let files = names.map(|(number, name)| {
        let number = ("file", Value::Number(number.to_string()));
        match save::open(name) {
            Ok(opened) => Value::object([
                number,
                ("name", Value::string(name)),
                ("version", Value::string(opened.version)),
                ("text", Value::string(mask(&opened.text))),
                ("editable", Value::Bool(site.web.borrow().allow_edit && can_be_edited(&opened.text))),
            ]),
            Err(why) => Value::object([number, ("name", Value::string(name)), ("error", Value::string(why))]),
        }
    });
    Reply::json(200, &Value::list(files))
}

/// Takes a text in place of a file, and loads it.
pub(in crate::web) async fn replace(site: &Site, request: &Request) -> Reply {
    if !site.web.borrow().allow_edit {
        return error(403, "the configuration cannot be changed here: `web.allow_edit` is not set");
    }
    let Some(configured) = site.configured().await else { return gone() };
    let number = request.queried("file").unwrap_or_else(|| "0".to_owned());
    let Some(name) = number.parse().ok().and_then(|number| file(&configured, number)) else {
        return error(404, "`file` is the number of no file");
    };
    let Ok(text) = std::str::from_utf8(&request.body) else { return error(400, "the text is not UTF-8") };
    let opened = match save::open(name) {
        Ok(opened) => opened,
        Err(why) => return error(500, &format!("{name} {why}")),
    };
    let version = request.queried("version").unwrap_or_default();
    if version != opened.version {
        return error(409, "the file has changed: `version` is that of another one");
    }
    let Judged { result, findings } =
        judge(&Edit { name, old: &opened.text, edited: text, around: &configured.around });
    let Some((whole, _)) = result.filter(|_| !has_errors(&findings)) else {
        let findings = Value::list(findings.iter().map(Finding::to_json));
        let why = Value::string("something is wrong with the text");
        return Reply::json(422, &Value::object([("error", why), ("findings", findings)]));
    };
    match save::replace(name, &version, &whole) {
        Ok(()) => {}
        Err(Refused::Changed) => return error(409, "the file has changed at the same moment"),
        Err(Refused::Failed(why)) => return error(500, &format!("{name} {why}")),
    }
    match site.reload().await {
        Some(errors) => {
            Reply::json(200, &Value::object([("errors", Value::list(errors.into_iter().map(Value::string)))]))
        }
        None => gone(),
    }
}
