//! Whether the user of a service can reach a file, by the permissions of the file and of the folders above it.

/// Who wants to read; a user that does not exist yet has no numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserIds {
    /// The number of the user.
    pub uid: Option<u32>,
    /// The numbers of its groups.
    pub gids: Vec<u32>,
}

/// A file, or a folder above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathNode {
    /// Where it is.
    pub path: String,
    /// Its permissions.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Whether other rules than these bits hold for it.
    pub has_acl: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// What to do about a file that the service cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle<'a> {
    /// A folder lets the user not pass.
    Folder(&'a PathNode),
    /// A file that its group may not read either: it can be opened to the group of the service.
    Closed(&'a PathNode),
    /// A file that another group may read: which one is for a person to decide.
    OfGroup(&'a PathNode),
}

/// Folders that the host's unit hides (`ProtectHome`, `PrivateTmp`), and what they are.
const HIDDEN: [(&str, &str); 5] = [
    ("/home", "home folders"),
    ("/root", "home folders"),
    ("/run/user", "home folders"),
    ("/tmp", "temporary folders"),
    ("/var/tmp", "temporary folders"),
];

/// What hides a path from the host's unit.
pub fn hidden(path: &str) -> Option<&'static str> {
    let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    HIDDEN.iter().find(|(folder, _)| is_in(folder)).map(|(_, what)| *what)
}

/// The first of these that keeps a user from reading the last one. The bit of `wanted` is 4 to read, 1 to start.
pub fn obstacle<'a>(reader: &UserIds, nodes: &'a [PathNode], wanted: u32) -> Option<Obstacle<'a>> {
    let node = nodes.iter().find(|node| !may(reader, node, if node.is_folder { 1 } else { wanted }))?;
    Some(match node {
        node if node.is_folder => Obstacle::Folder(node),
        node if node.mode & 0o070 == 0 => Obstacle::Closed(node),
        node => Obstacle::OfGroup(node),
    })
}

/// The owner's bits hold for the owner, the group's for its members, the last ones for everybody else.
fn may(reader: &UserIds, node: &PathNode, wanted: u32) -> bool {
    let shift = match reader {
        _ if node.has_acl => return true,
        UserIds { uid: Some(0), .. } => return true,
        UserIds { uid, .. } if *uid == Some(node.uid) => 6,
        UserIds { gids, .. } if gids.contains(&node.gid) => 3,
        _ => 0,
    };
    node.mode >> shift & wanted == wanted
}

/// A user in the text of `/etc/passwd`, with its groups in that of `/etc/group`.
pub fn user(name: &str, passwd: &str, group: &str) -> Option<UserIds> {
    let mut fields = passwd.lines().find(|line| line.split(':').next() == Some(name))?.split(':').skip(2);
    let uid = fields.next()?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    let has = |line: &&str| line.rsplit(':').next().is_some_and(|members| members.split(',').any(|one| one == name));
    let more = group.lines().filter(has).filter_map(|line| line.split(':').nth(2)?.parse().ok());
    Some(UserIds { uid: Some(uid), gids: std::iter::once(gid).chain(more).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(mode: u32, uid: u32, gid: u32, is_folder: bool) -> PathNode {
        PathNode { path: "/etc/ddns/x".to_owned(), mode, uid, gid, has_acl: false, is_folder }
    }

    #[test]
    fn the_bits_of_owner_group_and_others_hold() {
        let nobody = UserIds::default();
        let ddns = UserIds { uid: Some(998), gids: vec![998, 7] };
        let folder = node(0o755, 0, 0, true);
        let cases = [
            (&nobody, 0o644, 0, 0, true),
            (&nobody, 0o640, 0, 0, false),
            (&nobody, 0o600, 0, 998, false),
            (&ddns, 0o640, 0, 998, true),
            (&ddns, 0o640, 0, 7, true),
            (&ddns, 0o604, 0, 998, false),
            (&ddns, 0o400, 998, 0, true),
            (&ddns, 0o044, 998, 0, false),
            (&UserIds { uid: Some(0), gids: vec![0] }, 0o000, 5, 5, true),
        ];
        for (reader, mode, uid, gid, can) in cases {
            let nodes = [folder.clone(), node(mode, uid, gid, false)];
            assert_eq!(obstacle(reader, &nodes, 4).is_none(), can, "{mode:o} {uid}:{gid} for {reader:?}");
        }
    }

    #[test]
    fn what_is_in_the_way_says_what_can_be_done() {
        let nobody = UserIds::default();
        let (open, closed) = (node(0o755, 0, 0, true), node(0o700, 5, 5, true));
        let secret = node(0o600, 0, 0, false);
        assert_eq!(obstacle(&nobody, &[closed.clone(), secret.clone()], 4), Some(Obstacle::Folder(&closed)));
        assert_eq!(obstacle(&nobody, &[open.clone(), secret.clone()], 4), Some(Obstacle::Closed(&secret)));
        let shared = node(0o640, 0, 4, false);
        assert_eq!(obstacle(&nobody, &[open.clone(), shared.clone()], 4), Some(Obstacle::OfGroup(&shared)));
        assert_eq!(obstacle(&nobody, &[open, PathNode { has_acl: true, ..secret }], 4), None);
    }

    #[test]
    fn homes_and_temporary_folders_are_hidden() {
        for path in ["/home/a/config.json", "/root/x", "/run/user/1000/x", "/tmp/x", "/var/tmp/x", "/home"] {
            assert!(hidden(path).is_some(), "{path}");
        }
        for path in ["/etc/ddns/config.json", "/homes/a", "/srv/home/a", "/rooted", "/var/lib/ddns/x"] {
            assert_eq!(hidden(path), None, "{path}");
        }
    }

    #[test]
    fn users_are_found_with_their_groups() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nddns:x:998:997::/:/usr/sbin/nologin\nodd\nminus:*:-2:-2::/:/x\n";
        let group = "adm:x:4:syslog,ddns\nddns:x:997:\nx:x:9:ddnsx\n";
        assert_eq!(user("ddns", passwd, group), Some(UserIds { uid: Some(998), gids: vec![997, 4] }));
        for name in ["odd", "nobody", "minus", "ddn"] {
            assert_eq!(user(name, passwd, group), None, "{name}");
        }
    }
}
