//! Tells updates apart by their endpoints, if they share a domain and a type.

use std::collections::{HashMap, HashSet};

use super::state::Row;

/// The endpoint of an entry, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Scheme, host and port.
    pub origin: String,
    /// The whole URL; placeholders appear by name.
    pub address: String,
}

/// Names the endpoint of each row that shares its domain and type with other rows: by its origin or, if two of them have the same
/// origin, by its URL. `endpoints` contains one endpoint for each row.
pub fn tell_apart(rows: &mut [Row], endpoints: &[&Endpoint]) {
    let mut origins: HashMap<(&str, &str), (usize, HashSet<&str>)> = HashMap::new();
    for (row, endpoint) in rows.iter().zip(endpoints) {
        let (count, origins) = origins.entry((&row.domain, &row.kind)).or_default();
        *count += 1;
        origins.insert(&endpoint.origin);
    }
    let named: Vec<Option<String>> = rows
        .iter()
        .zip(endpoints)
        .map(|(row, endpoint)| match origins.get(&(row.domain.as_str(), row.kind.as_str()))? {
            (1, _) => None,
            (count, origins) if *count == origins.len() => Some(endpoint.origin.clone()),
            _ => Some(endpoint.address.clone()),
        })
        .collect();
    for (row, endpoint) in rows.iter_mut().zip(named) {
        row.endpoint = endpoint;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_an_endpoint_is_named_as_far_as_it_is_needed() {
        let endpoint =
            |origin: &str, path: &str| Endpoint { origin: origin.to_owned(), address: format!("{origin}{path}") };
        let (one, two, three) = (endpoint("http://a", "/1"), endpoint("http://a", "/2"), endpoint("http://b", "/1"));
        let cases = [
            (vec![("x", &one), ("y", &one)], vec![None, None]),
            (vec![("x", &one), ("x", &three)], vec![Some("http://a"), Some("http://b")]),
            (vec![("x", &one), ("x", &two), ("y", &two)], vec![Some("http://a/1"), Some("http://a/2"), None]),
            (
                vec![("x", &one), ("x", &two), ("x", &three)],
                vec![Some("http://a/1"), Some("http://a/2"), Some("http://b/1")],
            ),
        ];
        for (given, expected) in cases {
            let row = |domain: &str| Row { domain: domain.to_owned(), ..Row::default() };
            let mut rows: Vec<Row> = given.iter().map(|(domain, _)| row(domain)).collect();
            tell_apart(&mut rows, &given.iter().map(|(_, endpoint)| *endpoint).collect::<Vec<_>>());
            let named: Vec<Option<&str>> = rows.iter().map(|row| row.endpoint.as_deref()).collect();
            assert_eq!(named, expected, "{given:?}");
        }
    }
}
