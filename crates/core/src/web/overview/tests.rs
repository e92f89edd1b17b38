use super::*;
use crate::lease::membership::tests::membership;

fn row(domain: &str, ip: &str, state: UpdateState) -> Row {
    let address: Option<IpAddr> = ip.parse().ok();
    Row {
        domain: domain.to_owned(),
        kind: if ip.contains(':') { "AAAA" } else { "A" }.to_owned(),
        address,
        source: address.map(|_| "public".to_owned()),
        accepted: address.map(|_| 1_794_000_000 + domain.len() as u64),
        accepted_address: address,
        state,
        ..Row::default()
    }
}

fn retry(domain: &str, why: &str, seconds: u64) -> Row {
    let row = row(domain, "203.0.113.7", UpdateState::Retrying);
    Row { next: Some(seconds), failures: Some(3), reason: Some(why.to_owned()), ..row }
}

fn query(text: &str) -> ListQuery {
    let pairs: Vec<(&str, &str)> = text.split('&').filter_map(|pair| pair.split_once('=')).collect();
    ListQuery::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn i1_trouble_comes_first_and_once_for_the_same_reason() {
    let rows = vec![
        row("home.example", "203.0.113.7", UpdateState::UpToDate),
        retry("a.example", "503", 42),
        Row { failures: None, ..retry("b.example", "503", 7) },
        row("c.example", "", UpdateState::NoAddress),
        row("d.example", "2001:db8::7", UpdateState::Stopped),
        row("e.example", "2001:db8::7", UpdateState::Sending),
    ];
    let status = Status { rows, ..Status::default() };
    let view = overview(&status, &query(""));
    assert_eq!((view.headline.as_str(), view.worst), ("1 of 6 up to date", UpdateState::Stopped));
    let told: Vec<_> =
        view.trouble.iter().map(|one| (one.named[0].domain.as_str(), one.state, one.count, one.next)).collect();
    assert_eq!(
        told,
        [
            ("d.example", UpdateState::Stopped, 1, None),
            ("a.example", UpdateState::Retrying, 2, Some(7)),
            ("c.example", UpdateState::NoAddress, 1, None),
        ]
    );
    let found: Vec<_> = view.addresses.iter().map(|one| (one.ip.to_string(), one.count)).collect();
    assert_eq!(found, [("203.0.113.7".to_owned(), 3), ("2001:db8::7".to_owned(), 2)]);
    assert_eq!(view.counts.iter().map(|(_, count)| count).sum::<usize>(), view.all);
}

#[test]
fn i1_a_filter_a_sort_and_a_page_are_part_of_the_address() {
    let rows = ["b.example", "a.example", "cc.example"].map(|name| row(name, "203.0.113.7", UpdateState::UpToDate));
    let status = Status { rows: rows.into(), ..Status::default() };
    let names = |text: &str| -> Vec<&str> {
        overview(&status, &query(text)).rows.iter().map(|row| row.domain.as_str()).collect()
    };
    assert_eq!(names(""), ["b.example", "a.example", "cc.example"]);
    assert_eq!(names("sort=name"), ["a.example", "b.example", "cc.example"]);
    assert_eq!(names("sort=-name"), ["cc.example", "b.example", "a.example"]);
    assert_eq!(names("sort=accepted")[0], "cc.example");
    assert_eq!(names("q=CC"), ["cc.example"]);
    assert_eq!(names("q=113.7&page=9").len(), 3, "a page behind the last one is the last one");
    assert!(names("state=stopped").is_empty());
    assert_eq!(names("state=what&sort=what&page=-1").len(), 3);
    for text in ["", "q=ab", "state=stopped", "sort=-name&page=2"] {
        let query = query(text);
        assert_eq!(self::query(query.link("/").trim_start_matches(['/', '?'])), query);
    }
    let search = ListQuery { search: "a&b=c d".to_owned(), ..ListQuery::default() };
    assert_eq!(search.link("/"), "/?q=a%26b%3Dc+d");
    assert!(query("sort=name").sorted(Sort::Name).is_reverse && !query("sort=-name").sorted(Sort::Name).is_reverse);
}

#[test]
fn i1_a_page_behind_the_last_one_is_the_last_one() {
    for (page, total, expected) in [(1, 0, 1), (9, 0, 1), (1, 50, 1), (2, 50, 1), (2, 51, 2), (usize::MAX, 120, 3)] {
        assert_eq!(ListQuery { page, ..ListQuery::default() }.within(50, total).page, expected, "{page} of {total}");
    }
}

#[test]
fn i1_ten_thousand_domains_are_shown_in_pages() {
    let row = |at: usize| match format!("host{at:05}.example") {
        name if at.is_multiple_of(2) => row(&name, "203.0.113.7", UpdateState::UpToDate),
        name => retry(&name, &at.to_string(), 9),
    };
    let rows = (0..10_000).map(row).collect();
    let status = Status { rows, ..Status::default() };
    let view = overview(&status, &query("page=3&sort=name"));
    assert_eq!((view.total, view.rows.len(), view.rows[0].domain.as_str()), (10_000, 50, "host00100.example"));
    assert_eq!((view.trouble.len(), view.more_trouble), (MAX_TROUBLE, 5_000 - MAX_TROUBLE));
    assert_eq!(view.headline, "5,000 of 10,000 up to date");
}

#[test]
fn j3_the_headline_of_a_host_in_a_group_claims_no_more_than_it_knows() {
    let rows = ["a.example", "b.example"].map(|name| row(name, "203.0.113.7", UpdateState::UpToDate));
    let status = Status { rows: rows.into(), ..Status::default() };
    let cases = [
        (Role::Holder, true, "All 2 up to date", UpdateState::UpToDate),
        // Until its lease ends, the holder may send, and knows what it sent.
        (Role::Holder, false, "All 2 up to date", UpdateState::UpToDate),
        (Role::HandingOver, true, "All 2 up to date", UpdateState::UpToDate),
        (Role::Unconfirmed, true, "Stands by: the lease of the group is not confirmed", UpdateState::Retrying),
        (Role::Unconfirmed, false, "Stands by: the lease of the group is not confirmed", UpdateState::Retrying),
        (Role::TakingOver, true, "Takes over", UpdateState::StandBy),
        (Role::Joining, true, "Joins the group", UpdateState::StandBy),
        (Role::Joining, false, "Stands by: the store of the group cannot be used", UpdateState::Retrying),
        (Role::StandBy, true, "On standby for b", UpdateState::StandBy),
        (Role::StandBy, false, "Stands by: the store of the group cannot be used", UpdateState::Retrying),
    ];
    // It gave the lease back, and the store has not confirmed this yet.
    let mut resigned = status.clone();
    resigned.rows.iter_mut().for_each(Row::stand_by);
    let resigned = resigned.in_group(Some(membership(Role::HandingOver, Some("a"))));
    assert_eq!(overview(&resigned, &query("")).headline, "Stands by");
    for (role, has_store, headline, worst) in cases {
        let mut group = membership(role, Some(if role == Role::StandBy { "b" } else { "a" }));
        if !has_store {
            group.status.store = Err("refused".to_owned());
        }
        let status = status.clone().in_group(Some(group));
        let view = overview(&status, &query(""));
        assert_eq!((view.headline.as_str(), view.worst), (headline, worst), "{role:?}, {has_store}");
    }
}
