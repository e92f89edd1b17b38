//! Whether the user of a service can read a file, by the permissions of the file and of the folders above it.

/// The user of the service; a user that does not exist yet has no ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserIds {
    /// The id of the user.
    pub uid: Option<u32>,
    /// The ids of its groups.
    pub gids: Vec<u32>,
}

/// A file, or a folder above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathNode {
    /// The path.
    pub path: String,
    /// The permission bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Whether it has an access control list, so that the permission bits do not decide.
    pub has_acl: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// Why the service cannot read a file, and so what can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle<'a> {
    /// A folder does not let the user pass.
    Folder(&'a PathNode),
    /// The group of the file may not read it either: the file can be given to the group of the service.
    Closed(&'a PathNode),
    /// The file is readable for another group: a person must decide which group it should have.
    OfGroup(&'a PathNode),
}

/// The folders that the host's unit hides (`ProtectHome`, `PrivateTmp`), and their kind.
const HIDDEN: [(&str, &str); 5] = [
    ("/home", "home folders"),
    ("/root", "home folders"),
    ("/run/user", "home folders"),
    ("/tmp", "temporary folders"),
    ("/var/tmp", "temporary folders"),
];

/// The kind of hidden folder that contains a path; `None` if the host's unit does not hide the path.
pub fn hidden(path: &str) -> Option<&'static str> {
    let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    HIDDEN.iter().find(|(folder, _)| is_in(folder)).map(|(_, what)| *what)
}

/// The first node that keeps a user from the last one. `wanted` are the permission bits needed there: 4 to read, 1 to execute.
pub fn obstacle<'a>(reader: &UserIds, nodes: &'a [PathNode], wanted: u32) -> Option<Obstacle<'a>> {
    let node = nodes.iter().find(|node| !may(reader, node, if node.is_folder { 1 } else { wanted }))?;
    Some(match node {
        node if node.is_folder => Obstacle::Folder(node),
        node if node.mode & 0o070 == 0 => Obstacle::Closed(node),
        node => Obstacle::OfGroup(node),
    })
}

/// The owner's bits apply to the owner, the group's bits to its members, and the last bits to everybody else.
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

/// Finds a user in the text of `/etc/passwd`, and its groups in the text of `/etc/group`.
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
