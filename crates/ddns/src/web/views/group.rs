//! The state of this host in its group, on the first view, if there is a group.

use ddns_core::journal::UpdateState;
use ddns_core::lease::membership::Membership;
use ddns_core::lease::status::{GroupPeer, MemberStatus, Role};
use ddns_core::text::number::grouped;
use ddns_core::web::controls::in_words;
use ddns_core::web::when::Clock;
use maud::{Markup, html};

use super::parts::{Tone, left, notice, pill, said, time};

/// How many members are shown.
const MAX_MEMBERS: usize = 20;

pub(super) fn section(membership: &Membership, clock: &Clock<'_>) -> Markup {
    let MemberStatus { member, role, holder, held_for, lease_left, members, store, .. } = &membership.status;
    let since = held_for.map(|time| clock.when(clock.now.saturating_sub(time.as_secs())));
    html! {
        section.card.flush aria-labelledby="group" {
            header { h2 #group { "Group " (membership.group) } (sign(*role)) }
            ul.steps {
                li {
                    p { strong { (member) } " " (membership.sentence()) "." }
                    @for remark in membership.remarks() { (notice(Tone::Warning, in_words(&remark, None))) }
                    @if let (Err(_), Some(left_over)) = (store, lease_left) {
                        p { "Without the store this host may send for another " (left(left_over.as_secs())) "." }
                    }
                    p.soft {
                        @if store.is_ok() {
                            @if let (Some(holder), Some(since)) = (holder, since) { "Holder: " (holder) ", since " (time(&since)) ". " }
                            "The store answers."
                        } @else if !members.is_empty() { "What it showed last:" }
                    }
                }
            }
            @if !members.is_empty() { (table(members)) }
        }
    }
}

fn sign(role: Role) -> Markup {
    let state = match role {
        Role::Holder => UpdateState::UpToDate,
        Role::Joining | Role::TakingOver => UpdateState::Sending,
        Role::HandingOver => UpdateState::HeldBack,
        Role::Unconfirmed => UpdateState::Retrying,
        Role::StandBy | Role::Left => UpdateState::StandBy,
    };
    pill(state, role.word())
}

fn table(members: &[GroupPeer]) -> Markup {
    let more = members.len().saturating_sub(MAX_MEMBERS);
    html! {
        table.cards {
            thead { tr { th scope="col" { "Member" } th scope="col" { "State" } th scope="col" { "Prefer" } } }
            tbody {
                @for seen in members.iter().take(MAX_MEMBERS) {
                    tr {
                        th { (seen.member) @if seen.is_self { span.soft { " (this host)" } } }
                        td data-label="State" { (stands(seen)) }
                        td data-label="Prefer" { (seen.prefer) }
                    }
                }
            }
        }
        @if more > 0 { p.verdict { "And " (grouped(more)) " more." } }
    }
}

fn stands(seen: &GroupPeer) -> Markup {
    let (state, words) = match seen {
        GroupPeer { is_holder: true, .. } => (UpdateState::UpToDate, Role::Holder.word()),
        GroupPeer { ready: true, .. } => (UpdateState::StandBy, "ready"),
        _ => (UpdateState::NoAddress, "not ready"),
    };
    said(state, words)
}
